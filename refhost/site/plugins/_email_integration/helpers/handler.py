"""Mails in and out of chats. The chat's data says who is answered; these keys stay when the server ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers import plugins
from plugins._email_integration.helpers import smtp_client

if TYPE_CHECKING:
    from agent import AgentContext

PLUGIN_NAME = "_email_integration"
CTX_EMAIL_HANDLER = "email_handler"
CTX_EMAIL_SENDER = "email_sender"
CTX_EMAIL_ATTACHMENTS = "_email_response_attachments"


async def send_email_reply(context: AgentContext, response_text: str, attachments: list[str] | None = None) -> str | None:
    """None when it was sent, else what went wrong."""
    if not context.data.get(CTX_EMAIL_HANDLER):
        return "This chat is not answered by e-mail."
    config = plugins.get_plugin_config(PLUGIN_NAME) or {}
    return await smtp_client.send_reply(config, context.data[CTX_EMAIL_SENDER], response_text, attachments or [])
