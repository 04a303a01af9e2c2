from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class BackupVerify(web.Handler):
    """Read a backup from end to end."""

    fields = (web.Text("name", 100),)

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.backup_verify(**body)
