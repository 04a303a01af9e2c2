"""Answers as soon as the server listens."""

from __future__ import annotations

from helpers import api


class HealthCheck(api.ApiHandler):
    @classmethod
    def requires_auth(cls) -> bool:
        return False

    @classmethod
    def get_methods(cls) -> list[str]:
        return ["GET", "POST"]

    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        return {"gitinfo": None, "error": None}
