from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import anchor, web


class Status(web.Handler):
    """Say whether the plugin records work, and if not, why. Answers while it is off, too."""

    needs_service = False

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.status() if service else anchor.status()
