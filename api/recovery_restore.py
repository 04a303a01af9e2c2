from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class RecoveryRestore(web.Handler):
    """Choose the state from which a held run goes on, or end it with the chat as it is."""

    fields = (
        web.Text("run_id", 100),
        web.Whole("version", 0, 2**53),
        web.Text("selection", 20),
        web.Text("shown_digest", 64),
        web.Text("note", 2000, required=False, default=""),
        web.Flag("ack"),
        web.Text("request_id", 100),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.recovery_restore(**body, origin=self.origin)
