"""Kills the running turn and tells the agent to go on. The line in the log comes in any case."""

from __future__ import annotations

from helpers import api


class Nudge(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = self.use_context(input["ctxid"])
        context.nudge()
        text = "Process reset, agent nudged."
        context.log.log(type="info", content=text)
        return {"message": text, "ctxid": context.id}
