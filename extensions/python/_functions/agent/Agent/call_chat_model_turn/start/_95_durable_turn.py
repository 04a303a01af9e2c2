"""Count the step; the model wrapper below knows no agent."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableTurn(Extension):
    async def execute(self, **kwargs):
        await anchor.gate_async("model.turn", agent=self.agent)
