from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class RecoveryList(web.Handler):
    """List the runs that wait for a person, or all of them, a page at a time."""

    fields = (
        web.OneOf("tab", ("needs_you", "all"), required=False),
        web.Text("cursor", 200, required=False),
        web.Text("query", 200, required=False, default=""),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.recovery_list(**body)
