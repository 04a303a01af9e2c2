"""Notices for the welcome screen, collected from the point `banners`."""

from __future__ import annotations

from typing import Any

from helpers import api
from helpers.extension import call_extensions_async


class GetBanners(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        banners: list[dict[str, Any]] = input.get("banners", [])
        await call_extensions_async("banners", agent=None, banners=banners, frontend_context=input.get("context", {}))
        return {"banners": banners}
