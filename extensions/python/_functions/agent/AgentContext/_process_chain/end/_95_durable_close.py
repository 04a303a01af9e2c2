"""Close the run."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableClose(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("chain.end", data)
