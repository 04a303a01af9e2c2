"""plugins._telegram_integration.helpers.handler: a reply is recorded before it goes out and after it.

Why a hook is not enough: the function has no extension point, and three hooks of the host call it. Each of them looks
it up on this module when it needs it. `format_error` is where it swallows an error: it is heard and handed on.
"""


async def send_telegram_reply(original, context, response_text, attachments=None, keyboard=None):
    return await journaled.deliver("telegram_reply", original, context, response_text, attachments, keyboard)  # noqa: F821 - passed in


def format_error(original, e, start_entries=20, end_entries=15, error_message_position="top"):
    journaled.hear(e)  # noqa: F821
    return original(e, start_entries, end_entries, error_message_position)
