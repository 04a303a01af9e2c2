"""Shows the answer in the agent's item as soon as it can be read."""

from __future__ import annotations

from typing import Any

from helpers import extension


class LogFromStream(extension.Extension):
    async def execute(self, loop_data: Any = None, text: str = "", parsed: Any = None, **kwargs: Any) -> None:
        item = loop_data.params_temporary.get("log_item_generating")
        if self.agent and item:
            name = parsed.get("tool_name")
            heading = f"{self.agent.agent_name}: {f'Using {name}' if name else 'Receiving...'}"
            reasoning = {key: value for key, value in (item.kvps or {}).items() if key == "reasoning"}
            item.update(heading=heading, content=text, kvps={**reasoning, **parsed})
