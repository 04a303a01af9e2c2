"""An answer with `break_loop` false is sent at once and the turn goes on; attachments wait for the next mail."""

from __future__ import annotations

from typing import Any

from helpers import extension
from plugins._email_integration.helpers.handler import CTX_EMAIL_ATTACHMENTS, CTX_EMAIL_HANDLER


class EmailResponseIntercept(extension.Extension):
    async def execute(self, tool_name: str = "", response: Any = None, **kwargs: Any) -> None:
        if tool_name != "response" or not self.agent or not self.agent.context.data.get(CTX_EMAIL_HANDLER):
            return
        context, tool = self.agent.context, self.agent.loop_data.current_tool
        if tool.args.get("attachments"):
            context.data[CTX_EMAIL_ATTACHMENTS] = tool.args["attachments"]
        if tool.args.get("break_loop", True) is False and response:
            from plugins._email_integration.helpers.handler import send_email_reply

            error = await send_email_reply(context, tool.args["text"], context.data.pop(CTX_EMAIL_ATTACHMENTS, []))
            response.break_loop = False
            response.message = f"Not sent: {error}" if error else "The update was sent."
            self.agent.hist_add_tool_result("response", response.message)
