"""The history of the agent that speaks, as text."""

from __future__ import annotations

from helpers import api


class GetHistory(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = self.use_context(input.get("context", ""))
        history = (context.streaming_agent or context.agent0).history
        return {"history": history.output_text(), "tokens": history.get_tokens()}
