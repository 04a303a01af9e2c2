"""The main story, told by helpers: one chat, one effect, a crash, a restart, decisions.

The truth about an effect is read from the outside file; the tests decide as an honest
person would who looked there.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from refhost.client import Client
from refhost.world import World

FAULTS = Path(__file__).with_name("faults.py")
API = "plugins/durable_execution/"


class Panel:
    """What a person does in Recovery, over the API that the page uses."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def status(self) -> dict[str, Any]:
        return self.client.call(API + "status")

    def needs_you(self) -> list[dict[str, Any]]:
        return self.client.call(API + "recovery_list", {"tab": "needs_you"})["items"]

    def all_runs(self) -> list[dict[str, Any]]:
        return self.client.call(API + "recovery_list", {"tab": "all"})["items"]

    def run(self, run_id: str) -> dict[str, Any]:
        return self.client.call(API + "recovery_run", {"run_id": run_id})

    def wait_held(self, chat: str | None = None) -> dict[str, Any]:
        """The detail of the one held run (of this chat)."""

        def look() -> list[dict[str, Any]]:
            return [item for item in self.needs_you() if chat in (None, item["chat_id"])]

        return self.run(self.client.wait(look, what="a held run")[0]["run_id"])

    def decide(self, detail: dict[str, Any], decision: str, note: str = "", **more: Any) -> Any:
        """Choose one of the offered decisions, with the digest that was shown."""
        offered = [d for d in detail["decisions"] if d["id"] == decision]
        call_id = more.pop("call_id", None)
        chosen = next((d for d in offered if call_id in (None, d["call_id"]) and d["allowed"]), None)
        assert chosen is not None, f"{decision} is not offered: {offered} for {detail['run']}"
        body = {
            "run_id": detail["run"]["run_id"],
            "version": detail["run"]["version"],
            "call_id": chosen["call_id"],
            "shown_digest": chosen["digest"],
            "decision": decision,
            "note": note,
            "ack": chosen.get("needs_ack", False),
            "request_id": uuid.uuid4().hex,
        }
        return self.client.ask(API + "recovery_decide", {**body, **more})

    def restore(self, detail: dict[str, Any], starts_with: str, note: str = "", **more: Any) -> Any:
        """Choose the state whose title begins like this, with the digest that was shown."""
        chosen = next(offer for offer in detail["restore"] if offer["allowed"] and offer["title"].startswith(starts_with))
        body = {
            "run_id": detail["run"]["run_id"],
            "version": detail["run"]["version"],
            "selection": chosen["id"],
            "shown_digest": chosen["digest"],
            "note": note,
            "ack": chosen["needs_ack"],
            "request_id": uuid.uuid4().hex,
        }
        return self.client.ask(API + "recovery_restore", {**body, **more})

    def grant(self, detail: dict[str, Any], attempts: int = 1) -> Any:
        call = next(grant for grant in detail["grants"] if grant["allowed"])
        body = {
            "run_id": detail["run"]["run_id"],
            "version": detail["run"]["version"],
            "call_id": call["call_id"],
            "attempts": attempts,
            "request_id": uuid.uuid4().hex,
        }
        return self.client.ask(API + "recovery_grant", body)


def settle(world: World, chat: str, arg: str, *, result_text: str = "") -> list[str]:
    """Go on until the chat is done, deciding honestly; returns the hold reasons that were met."""
    client = world.client()
    panel = Panel(client)
    met: list[str] = []

    def look() -> str:
        states = {run["state"] for run in panel.all_runs() if run["chat_id"] == chat}  # one look: what is busy now may be held in the next
        return "held" if "held" in states else "" if states & {"queued", "running"} or client.running(chat) else "done"

    for _ in range(6):
        if client.wait(look, what="the run to end or to be held") == "done":
            return met
        detail = panel.wait_held(chat)
        reason = detail["run"]["reason"]["code"]
        met.append(reason)
        if reason == "model_interrupted":
            reply = panel.grant(detail)
        elif f"start {arg}" in world.effects():
            reply = panel.decide(detail, "confirmed_completed", "The outside file has the line.", result_text=result_text)
        else:
            reply = panel.decide(detail, "confirmed_not_completed", "The outside file has no line.")
        assert reply.status == 200, reply.text
    raise AssertionError(f"the run never ended: {met}")
