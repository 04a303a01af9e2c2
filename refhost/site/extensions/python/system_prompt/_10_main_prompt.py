"""The fixed text, and one part for each tool prompt of the host and of enabled plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers import extension, subagents


class MainPrompt(extension.Extension):
    async def execute(self, system_prompt: list[str], **kwargs: Any) -> None:
        if self.agent is None:
            return
        system_prompt.append(self.agent.read_prompt("agent.system.main.md"))
        folders = [Path(folder) for folder in subagents.get_paths(self.agent, "prompts")]
        names = {path.name for folder in folders for path in folder.glob("agent.system.tool.*.md")}
        system_prompt.extend(self.agent.read_prompt(name) for name in sorted(names))
