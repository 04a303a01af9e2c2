"""A saved result goes into the history before an error is handled."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableResultFirst(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("exception.start", data, agent=self.agent)
