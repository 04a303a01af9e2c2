"""Starts to compress the history when it has grown too long: on another thread, beside the loop."""

from __future__ import annotations

from typing import Any

from helpers import extension
from helpers.defer import THREAD_BACKGROUND, DeferredTask


class OrganizeHistory(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        task = self.agent.get_data("_organize_history_task") if self.agent else None
        if self.agent and self.agent.history.is_over_limit() and (task is None or task.is_ready()):
            task = DeferredTask(THREAD_BACKGROUND).start_task(self.agent.history.compress)
            self.agent.set_data("_organize_history_task", task)
