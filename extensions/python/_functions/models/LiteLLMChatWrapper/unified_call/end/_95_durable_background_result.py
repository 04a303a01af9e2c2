"""The answer of a call beside the turn is saved."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableBackgroundResult(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("background.end", data)
