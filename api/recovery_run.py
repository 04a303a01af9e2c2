from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class RecoveryRun(web.Handler):
    """Show one run: what is saved, what is unknown, and which decisions are on offer."""

    fields = (web.Text("run_id", 100),)

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.recovery_run(**body)
