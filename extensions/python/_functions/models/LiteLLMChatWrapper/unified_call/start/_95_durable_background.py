"""A call beside the turn: recorded, or answered from the record."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableBackground(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("background.start", data)
