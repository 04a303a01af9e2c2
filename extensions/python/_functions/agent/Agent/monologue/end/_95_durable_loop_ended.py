"""Close the run of a turn that is not its chat's own task."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableLoopEnded(Extension):
    async def execute(self, data=None, **kwargs):
        await anchor.gate_async("monologue.end", data)
