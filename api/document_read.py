from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class DocumentRead(web.Handler):
    """Show one document, with the versions that wait beside it."""

    fields = (
        web.Text("document_id", 100, required=False),
        web.Text("chat_id", 200, required=False),
        web.Text("kind", 40, required=False, default="plan"),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.document_read(**body)
