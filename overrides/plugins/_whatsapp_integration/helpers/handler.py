"""plugins._whatsapp_integration.helpers.handler.send_wa_reply: a reply is recorded before it goes out and after it.

Why a hook is not enough: the function has no extension point, and two hooks of the host call it, one of them in a task
that the turn does not wait for. Both look it up on this module when they need it.
"""


async def send_wa_reply(original, context, response_text, attachments=None, reply_to="", keep_typing=False):
    rest = attachments, reply_to, keep_typing
    return await journaled.deliver("whatsapp_reply", original, context, response_text, *rest)  # noqa: F821 - passed in
