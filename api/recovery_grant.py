from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge import web


class RecoveryGrant(web.Handler):
    """Allow one to three more attempts of a model call that was cut off."""

    fields = (
        web.Text("run_id", 100),
        web.Whole("version", 0, 2**53),
        web.Text("call_id", 100),
        web.Whole("attempts", 1, 3),
        web.Text("request_id", 100),
    )

    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        return service.recovery_grant(**body, origin=self.origin)
