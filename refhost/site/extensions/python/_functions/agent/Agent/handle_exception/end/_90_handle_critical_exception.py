"""What is left is shown and ends the turn."""

from __future__ import annotations

from typing import Any

from helpers import errors, extension


class HandleCritical(extension.Extension):
    async def execute(self, data: Any = None, **kwargs: Any) -> None:
        error = data["exception"]
        if self.agent and error and not isinstance(error, errors.HandledException):
            self.agent.context.log.log(type="error", content=errors.format_error(error))
            data["exception"] = errors.HandledException(error)
