"""The model reads what it did wrong and may try again."""

from __future__ import annotations

from typing import Any

from helpers import errors, extension


class HandleRepairable(extension.Extension):
    async def execute(self, data: Any = None, **kwargs: Any) -> None:
        if self.agent and isinstance(data["exception"], errors.RepairableException):
            text = errors.format_error(data["exception"])
            message = self.agent.hist_add_warning(text)
            self.agent.context.log.log(type="warning", content=text, id=message.id)
            data["exception"] = None
