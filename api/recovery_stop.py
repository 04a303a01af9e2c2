from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class RecoveryStop(web.Handler):
    """Stop a run, or what is at work in a chat, whatever it is at by now."""

    fields = (
        web.Text("run_id", 100, required=False),
        web.Text("chat_id", 200, required=False),
        web.Text("note", 2000, required=False, default=""),
        web.Text("request_id", 100),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.recovery_stop(**body, origin=self.origin)
