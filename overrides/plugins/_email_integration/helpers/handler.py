"""plugins._email_integration.helpers.handler.send_email_reply: a reply is recorded before it goes out and after it.

Why a hook is not enough: the function has no extension point, and two hooks of the host call it, one of them in a task
that the turn does not wait for. Both look it up on this module when they need it.
"""


async def send_email_reply(original, context, response_text, attachments=None):
    return await journaled.deliver("email_reply", original, context, response_text, attachments)  # noqa: F821 - passed in
