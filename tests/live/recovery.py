"""What a person does in the Recovery panel, through the same API (docs/api.md)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from .client import Client, Reply

NOTE = "Looked at the file myself."


class Recovery:
    def __init__(self, client: Client) -> None:
        self.client = client

    def status(self) -> dict[str, Any]:
        return dict(self.client.plugin("status").ok())

    def waiting(self) -> list[dict[str, Any]]:
        """The runs under "Needs you"."""
        return list(self.client.plugin("recovery_list", {"tab": "needs_you"}).ok()["items"])

    def runs(self, chat: str) -> list[dict[str, Any]]:
        """Every recorded run of a chat, newest first."""
        items = self.client.plugin("recovery_list", {"tab": "all"}).ok()["items"]
        return [item for item in items if item["chat_id"] == chat]

    def run(self, chat: str) -> dict[str, Any]:
        """The newest run of a chat in detail."""
        return self.detail(self.runs(chat)[0]["run_id"])

    def detail(self, run_id: str) -> dict[str, Any]:
        return dict(self.client.plugin("recovery_run", {"run_id": run_id}).ok())

    def held(self, chat: str) -> dict[str, Any]:
        """Wait until the chat's run is held, and return it in detail."""
        found = self.client.wait(
            f"the hold of {chat}",
            lambda: [item for item in self.waiting() if item["chat_id"] == chat],
        )
        return self.detail(found[0]["run_id"])

    def wait_state(self, chat: str, state: str) -> None:
        self.client.wait(
            f"the state {state}",
            lambda: (runs := self.runs(chat)) and runs[0]["state"] == state,
        )

    def choice(self, detail: dict[str, Any], decision: str) -> dict[str, Any]:
        """The offer of one decision, as the form shows it."""
        found = [choice for choice in detail["decisions"] if choice["id"] == decision]
        assert found, f"{decision} is not offered: {detail['decisions']}"
        return dict(found[0])

    def decide(self, detail: dict[str, Any], decision: str, **fields: Any) -> Reply:
        """Send one decision; `fields` are note, ack, result_text, request_id or a changed value."""
        choice = self.choice(detail, decision)
        body = {
            "run_id": detail["run"]["run_id"],
            "version": detail["run"]["version"],
            "call_id": choice["call_id"],
            "shown_digest": choice["digest"],
            "decision": decision,
            "request_id": str(uuid.uuid4()),
        }
        return self.client.plugin("recovery_decide", body | fields)

    def restore(self, detail: dict[str, Any], starts_with: str, **fields: Any) -> Reply:
        """Choose the state whose title begins like this, as the form shows it."""
        chosen = next(offer for offer in detail["restore"] if offer["allowed"] and offer["title"].startswith(starts_with))
        body = {
            "run_id": detail["run"]["run_id"],
            "version": detail["run"]["version"],
            "selection": chosen["id"],
            "shown_digest": chosen["digest"],
            "ack": chosen["needs_ack"],
            "request_id": str(uuid.uuid4()),
        }
        return self.client.plugin("recovery_restore", body | fields)

    def grant(self, detail: dict[str, Any], attempts: int = 1) -> Reply:
        body = {
            "run_id": detail["run"]["run_id"],
            "version": detail["run"]["version"],
            "call_id": detail["grants"][0]["call_id"],
            "attempts": attempts,
            "request_id": str(uuid.uuid4()),
        }
        return self.client.plugin("recovery_grant", body)

    def settle(self, chat: str, happened: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Decide truthfully, hold after hold, until the newest run of the chat has ended; return it."""

        def step() -> dict[str, Any] | None:
            run = self.run(chat)
            if run["run"]["state"] in ("completed", "failed", "stopped"):
                return run
            if run["run"]["state"] == "held":
                self._decide_truthfully(run, happened)
            return None

        return dict(self.client.wait("the end of the run", step, seconds=90))

    def _decide_truthfully(self, run: dict[str, Any], happened: Callable[[dict[str, Any]], bool]) -> None:
        reason = run["run"]["reason"]["code"]
        if reason == "model_interrupted":
            self.grant(run).ok()
        elif reason == "outcome_unknown":
            call = next(call for call in run["calls"] if call["outcome"] in ("open", "unknown"))
            decision = "confirmed_completed" if happened(call) else "confirmed_not_completed"
            self.decide(run, decision, note=NOTE).ok()
        else:
            raise AssertionError(f"held for {run['run']['reason']}")
