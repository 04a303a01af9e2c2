from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class DocumentSave(web.Handler):
    """Replace a chat's document as a whole. A stale revision is kept as a conflict."""

    fields = (
        web.Text("chat_id", 200),
        web.Text("kind", 40, required=False, default="plan"),
        web.Whole("expected_revision", 0, 2**53),
        web.Object("value"),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.document_save(**body)
