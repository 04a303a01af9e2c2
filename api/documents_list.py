from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class DocumentsList(web.Handler):
    """List the documents, those in conflict first, a page at a time."""

    fields = (web.Text("cursor", 200, required=False),)

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.documents_list(**body)
