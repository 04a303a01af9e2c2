"""The final answer of a turn. Its bubble is drawn while the model writes, so this tool logs and stores nothing."""

from __future__ import annotations

from typing import Any

from helpers import tool
from helpers.errors import RepairableException


class ResponseTool(tool.Tool):
    async def execute(self, **kwargs: Any) -> tool.Response:
        text = self.args.get("text", self.args.get("message"))
        if not isinstance(text, str):
            raise RepairableException("The response tool needs the argument text.")
        return tool.Response(message=text, break_loop=True)

    async def before_execution(self, **kwargs: Any) -> None:
        """No log item: `log` stays absent here."""

    async def after_execution(self, response: tool.Response, **kwargs: Any) -> None:
        item = self.loop_data.params_temporary.get("log_item_response") if self.loop_data else None
        if item:
            item.update(finished=True)
