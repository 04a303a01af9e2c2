"""Closes the agent's item. It must be there: whoever skips the point before the model call breaks the step."""

from __future__ import annotations

from typing import Any

from helpers import extension


class LogFromStreamEnd(extension.Extension):
    async def execute(self, loop_data: Any = None, **kwargs: Any) -> None:
        item = loop_data.params_temporary["log_item_generating"]
        item.update(kvps=item.kvps)
