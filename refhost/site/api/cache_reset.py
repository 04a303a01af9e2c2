"""Empties the caches: files of routes, extensions and hooks are read again."""

from __future__ import annotations

from helpers import api, cache


class CacheReset(api.ApiHandler):
    @classmethod
    def requires_auth(cls) -> bool:
        return False

    @classmethod
    def requires_loopback(cls) -> bool:
        return True

    @classmethod
    def get_methods(cls) -> list[str]:
        return ["GET", "POST"]

    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        for area in input.get("areas") or ["*"]:
            cache.clear(area)
        return {"ok": True}
