"""What changed since the page last asked."""

from __future__ import annotations

from helpers import api
from helpers.state_snapshot import build_snapshot


class Poll(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        return await build_snapshot(
            context=input.get("context"),
            log_from=input.get("log_from", 0),
            notifications_from=input.get("notifications_from", 0),
            timezone=input.get("timezone"),
        )
