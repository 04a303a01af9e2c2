"""The line under the chat says that it is the user's turn."""

from __future__ import annotations

from typing import Any

from helpers import extension


class WaitingForInput(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        if self.agent and self.agent.number == 0:
            self.agent.context.log.set_initial_progress()
