from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class BackupMake(web.Handler):
    """Make a verified copy of the journal beside running work."""

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.backup_make()
