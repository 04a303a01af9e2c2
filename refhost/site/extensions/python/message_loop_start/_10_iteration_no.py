"""Counts the agent's steps over all its turns."""

from __future__ import annotations

from typing import Any

from helpers import extension


class IterationNo(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        if self.agent:
            self.agent.set_data("iteration_no", (self.agent.get_data("iteration_no") or 0) + 1)
