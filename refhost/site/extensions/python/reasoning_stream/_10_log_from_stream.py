"""Shows the reasoning as it comes."""

from __future__ import annotations

from typing import Any

from helpers import extension


class LogReasoning(extension.Extension):
    async def execute(self, loop_data: Any = None, text: str = "", **kwargs: Any) -> None:
        item = loop_data.params_temporary.get("log_item_generating")
        if self.agent and item:
            item.update(heading=f"{self.agent.agent_name}: Reasoning...", reasoning=text)
