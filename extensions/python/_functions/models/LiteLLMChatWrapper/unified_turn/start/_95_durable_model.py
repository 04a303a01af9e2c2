"""Intent before the request, or the recorded answer."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableModel(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("model.start", data)
