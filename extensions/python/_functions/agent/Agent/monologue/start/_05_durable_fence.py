"""A chat with an unfinished run runs that run only."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableFence(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("monologue.start", data)
