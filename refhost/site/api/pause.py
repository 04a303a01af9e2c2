"""Pauses and goes on. Not saved: a restarted chat is not paused."""

from __future__ import annotations

from helpers import api


class Pause(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        paused = bool(input.get("paused", False))
        self.use_context(input.get("context", "")).paused = paused
        return {"message": "Agent paused." if paused else "Agent unpaused.", "pause": paused}
