from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class DocumentResolve(web.Handler):
    """Settle a conflict: keep what is stored, use the other version, or save a merged one. Runs nothing."""

    fields = (
        web.Text("conflict_id", 100),
        web.OneOf("choice", web.WAYS),
        web.Whole("expected_revision", 0, 2**53),
        web.Object("value", required=False),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.document_resolve(**body)
