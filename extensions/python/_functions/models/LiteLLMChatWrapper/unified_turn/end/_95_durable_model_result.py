"""The answer is saved before anything acts on it."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableModelResult(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("model.end", data)
