"""Sends the last answer of a turn by mail, in a task that nobody waits for, and tells the model if that failed."""

from __future__ import annotations

import asyncio
from typing import Any

from agent import AgentContext, UserMessage
from helpers import extension
from plugins._email_integration.helpers.handler import CTX_EMAIL_ATTACHMENTS, CTX_EMAIL_HANDLER

MAX_SEND_RETRIES = 2
CTX_SEND_FAILURES = "_email_send_failures"


class EmailAutoReply(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        if not self.agent or self.agent.number != 0 or not self.agent.context.data.get(CTX_EMAIL_HANDLER):
            return
        context = self.agent.context
        said = [item.content for item in context.log.logs if item.type == "response" and item.content]
        if said:
            attachments = context.data.pop(CTX_EMAIL_ATTACHMENTS, [])
            self.agent.data["_email_task"] = asyncio.create_task(self._send(context, said[-1], attachments))

    async def _send(self, context: AgentContext, text: str, attachments: list[str]) -> None:
        from plugins._email_integration.helpers.handler import send_email_reply

        error = await send_email_reply(context, text, attachments)
        failures = context.data.get(CTX_SEND_FAILURES, 0) + 1 if error else 0
        context.data[CTX_SEND_FAILURES] = failures
        if 0 < failures <= MAX_SEND_RETRIES:
            told = f"Your last answer was not sent, attempt {failures} of {MAX_SEND_RETRIES}: {error}"
            context.log.log(type="error", heading="Email send failed", content=error)
            context.communicate(UserMessage("", system_message=[told]))
