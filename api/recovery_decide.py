from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class RecoveryDecide(web.Handler):
    """Record one of the five decisions for a held run."""

    fields = (
        web.Text("run_id", 100),
        web.Whole("version", 0, 2**53),
        web.Text("call_id", 100, required=False),
        web.Text("shown_digest", 64),
        web.OneOf("decision", web.DECISIONS),
        web.Text("note", 2000, required=False, default=""),
        web.Flag("ack"),
        web.Text("result_text", 64 * 1024, required=False),
        web.Text("request_id", 100),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.recovery_decide(**body, origin=self.origin)
