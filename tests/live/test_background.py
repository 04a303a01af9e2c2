"""What the real host asks a model beside the turn: once over a crash, and beside the steps."""

from __future__ import annotations

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery

NAMING = "chat naming assistant"


def namings(model: ScriptedModel) -> int:
    return sum(NAMING in asked.text for asked in model.asked if asked.kind == "utility")


def background(recovery: Recovery, chat: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for call in recovery.run(chat)["background"]:
        found.setdefault(call["purpose"], []).append(call["status"])
    return found


def test_a_resumed_run_names_its_chat_once_and_memorizes_once(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    client.wait("the name's record", lambda: background(recovery, chat).get("naming") == ["saved"])
    asked = len([each for each in model.asked if each.kind == "utility"])
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    model.script(say("Finished."))
    recovery.decide(recovery.held(chat), "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "Finished.")
    recovery.wait_state(chat, "completed")
    client.wait("the memories", lambda: background(recovery, chat).get("memorize_solutions") == ["saved"])

    found = background(recovery, chat)

    assert asked
    assert namings(model) == 1
    assert (found["naming"], found["memorize_fragments"]) == (["reused"], ["saved"])
    usage = recovery.run(chat)["usage"]
    assert usage["calls"] == 2
    assert usage["background_calls"] == sum(map(len, found.values()))
    assert usage["input_tokens"] > 100
    assert usage["saved"]["tokens"] > 0
