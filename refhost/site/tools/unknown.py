"""Answers for a tool that does not exist."""

from __future__ import annotations

from typing import Any

from helpers import files, tool


class Unknown(tool.Tool):
    async def execute(self, **kwargs: Any) -> tool.Response:
        known = ", ".join(name.removesuffix(".py") for name in files.list_files("tools", "*.py"))
        text = self.agent.read_prompt("fw.tool_not_found.md", tool_name=self.name, tools=known)
        return tool.Response(message=text, break_loop=False)
