from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class Suspend(web.Handler):
    """Put everything aside for a restart, or take that back."""

    fields = (web.OneOf("action", ("suspend", "resume"), required=False),)

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.suspend(body["action"], self.origin)
