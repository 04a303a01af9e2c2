from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class Safety(web.Handler):
    """Show the health of the journal, what it takes and its backups."""

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.safety()
