"""Waits for a compression that is under way."""

from __future__ import annotations

from typing import Any

from helpers import extension


class OrganizeHistoryWait(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        task = self.agent.get_data("_organize_history_task") if self.agent else None
        if self.agent and task and not task.is_ready():
            self.agent.context.log.set_progress("Shortening the history")
            await task.result()
