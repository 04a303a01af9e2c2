"""The token that every other request must carry. Without an origin, or from another host, there is none."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from helpers import api, runtime

LOCAL = {"localhost", "127.0.0.1", "0.0.0.0"}


class GetCsrfToken(api.ApiHandler):
    @classmethod
    def get_methods(cls) -> list[str]:
        return ["GET"]

    @classmethod
    def requires_csrf(cls) -> bool:
        return False

    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        origin = request.headers.get("Origin") or request.headers.get("Referer") or ""
        if urlsplit(origin).hostname not in LOCAL:
            return {"ok": False, "error": f"Origin {origin or None} not allowed."}
        token = api.session.setdefault("csrf_token", secrets.token_urlsafe(32))
        return {"ok": True, "token": token, "runtime_id": runtime.get_runtime_id()}
