from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class BackupRestore(web.Handler):
    """Put a backup in the place of the journal."""

    fields = (
        web.Text("name", 100),
        web.Flag("ack"),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.backup_restore(**body)
