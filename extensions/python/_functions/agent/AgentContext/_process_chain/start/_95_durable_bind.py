"""Bind this coroutine to its run."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableBind(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("chain.start", data)
