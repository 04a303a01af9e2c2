from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class Doctor(web.Handler):
    """Look at everything, or say how far that look is."""

    fields = (web.Flag("start"),)

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.doctor(**body)
