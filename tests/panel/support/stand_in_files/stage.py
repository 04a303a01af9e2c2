"""Lets a test set what the canned service answers next, and read what was asked."""

from __future__ import annotations

from typing import Any

from helpers.api import ApiHandler
from usr.plugins.durable_execution.bridge import anchor, canned


class Stage(ApiHandler):  # type: ignore[misc]
    async def process(self, input: dict[str, Any], request: Any) -> dict[str, Any]:
        stage = anchor.stage()
        match input["do"]:
            case "scene":
                stage.off = input.get("off")
                views = [getattr(canned, name)() for name in input.get("views", [])]
                stage.service = canned.Canned(*views, status=input.get("status"))
                for view in input.get("more", []):
                    stage.service.views[view["run"]["run_id"]] = view
            case "no_documents":
                stage.service.documents.clear()
            case "saved_elsewhere":
                stage.service.documents[input["document_id"]]["document"]["revision"] += 1
            case "suspension":
                steps, unrecorded = input.get("steps", []), tuple(input.get("unrecorded", []))
                stage.service.off = {**(stage.service.off or {}), "suspension": canned.suspension(*steps, unrecorded=unrecorded)}
            case "fail":
                stage.service.fail[input["call"]] = canned.failure(input["code"], input.get("text", ""), input.get("facts", {}))
            case "elsewhere":
                stage.service.elsewhere(input["run_id"], input["choice"])
            case "hold":
                self._hold(input)
            case "warn":
                self._warn(input)
        return {"asked": stage.service.asked}

    def _hold(self, input: dict[str, Any]) -> None:
        from agent import AgentContext
        from helpers.state_monitor_integration import mark_dirty_all

        ctx = AgentContext.get(input["chat"])
        ctx.name = input.get("name") or ctx.name
        if input.get("run_id"):
            ctx.set_output_data("_durable_execution", {"state": "held", "run_id": input["run_id"], "text": input.get("text", "")})
        else:
            ctx.output_data.pop("_durable_execution", None)
        mark_dirty_all(reason="stage")

    def _warn(self, input: dict[str, Any]) -> None:
        from agent import AgentContext
        from helpers.state_monitor_integration import mark_dirty_all

        AgentContext.get(input["chat"]).log.log(type="warning", heading="Waiting", content=input["text"], id=input["id"])
        mark_dirty_all(reason="stage")
