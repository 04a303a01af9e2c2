"""plugins._whatsapp_integration.helpers.wa_client: an error of the client is heard and goes on.

Why a hook is not enough: the caller makes a text of every error, and of some an empty one, which counts as sent.
"""


async def send_message(original, base_url, chat_id, message, reply_to=""):
    return await journaled.heard(original(base_url, chat_id, message, reply_to))  # noqa: F821 - passed in


async def send_media(original, base_url, chat_id, file_path, caption="", media_type="", file_name=""):
    return await journaled.heard(original(base_url, chat_id, file_path, caption, media_type, file_name))  # noqa: F821
