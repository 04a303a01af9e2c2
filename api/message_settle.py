from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class MessageSettle(web.Handler):
    """Send or discard a message that a Stop left over."""

    fields = (
        web.OneOf("action", ("send", "discard")),
        web.Text("run_id", 100),
        web.Whole("version", 0, 2**53),
        web.Text("input_id", 200),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.message_settle(**body, origin=self.origin)
