"""Ends the server, or starts it over in the same process."""

from __future__ import annotations

from helpers import api, process


class Restart(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        process.reload()
        return api.Response(status=200)
