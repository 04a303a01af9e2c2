"""A saved result goes into the history before a new message."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableResultFirst(Extension):
    async def execute(self, **kwargs):
        await anchor.gate_async("intervention.start", agent=self.agent)
