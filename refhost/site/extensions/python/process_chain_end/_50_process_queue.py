"""Sends the next queued message once the turn has ended."""

from __future__ import annotations

import asyncio
from typing import Any

from agent import AgentContext
from helpers import extension, message_queue


class ProcessQueue(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        if self.agent and self.agent.number == 0 and message_queue.has_queue(self.agent.context):
            task = asyncio.create_task(self._send_later(self.agent.context))
            self.agent.set_data("_queue_task", task)  # the loop itself keeps no task alive

    async def _send_later(self, context: AgentContext) -> None:
        for _ in range(600):
            if not context.is_running():
                message_queue.send_next(context)
                return
            await asyncio.sleep(0.1)
