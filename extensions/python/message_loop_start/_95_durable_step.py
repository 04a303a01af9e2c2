"""The top of a loop step: deliver what waits, take the resume point."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableStep(Extension):
    async def execute(self, **kwargs):
        await anchor.gate_async("step.start", agent=self.agent)
