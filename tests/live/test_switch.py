"""Off and on while there is something to lose: a running tool, a held run, a host that changed."""

from __future__ import annotations

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery

PINNED = "helpers/message_queue.py"


@pytest.fixture(autouse=True)
def switched_on(host: LiveHost, client: Client) -> None:
    if client.toggle_status() != "enabled":
        client.toggle(True).ok()


@pytest.fixture
def held(host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect) -> str:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    recovery.held(chat)
    return chat


def test_a_running_run_refuses_the_switch(client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect) -> None:
    chat = client.new_chat()
    model.script(effect.gated(), say("Recorded to the end."))
    client.send(chat, "Write the file")
    effect.wait_for("start")

    client.toggle(False)

    assert client.toggle_status() == "enabled"
    assert recovery.status()["active"] is True
    effect.let_go()
    client.wait_answer(chat, "Recorded to the end.")
    assert recovery.run(chat)["run"]["state"] == "completed"
    assert effect.lines == ["start", "end"]


def test_off_by_hand_during_a_tool_lets_the_turn_end_quietly(host: LiveHost, client: Client, model: ScriptedModel, effect: Effect) -> None:
    chat = client.new_chat()
    model.script(effect.gated(), say("Ended quietly."))
    client.send(chat, "Write the file")
    effect.wait_for("start")

    host.toggle_file(enabled=False)
    effect.let_go()
    client.wait_answer(chat, "Ended quietly.")

    assert effect.lines == ["start", "end"]
    assert len(model.main) == 2
    assert client.bubbles(chat, "error") == []


def test_a_held_run_does_not_refuse_the_switch_and_is_still_held_afterwards(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str
) -> None:
    client.toggle(False).ok()
    assert client.toggle_status() == "disabled"

    client.toggle(True).ok()
    run = recovery.held(held)

    assert run["run"]["reason"]["code"] == "outcome_unknown"
    model.script(say("Finished."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(held, "Finished.")
    assert effect.lines == ["start", "end"]
    assert model.main[-1].count("tool_result") == 1


@pytest.mark.parametrize("restart", [False, True], ids=["live", "restart"])
def test_a_chat_that_moved_on_while_off_is_held_and_not_overwritten(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str, restart: bool
) -> None:
    client.toggle(False).ok()
    model.script(say("Said while off."))
    assert client.ask(held, "Go on without the journal") == "Said while off."
    client.wait_idle(held)

    if restart:
        host.stop()
        host.toggle_file(enabled=True)
        host.start()
    else:
        client.toggle(True).ok()
    run = recovery.held(held)

    assert run["run"]["reason"]["code"] == "chat_moved_on"
    assert [choice["id"] for choice in run["decisions"] if choice["allowed"]] == ["stop"]
    assert "Said while off." in client.bubbles(held, "response")
    assert "Go on without the journal" in client.bubbles(held, "user")
    recovery.decide(run, "stop").ok()
    model.script(say("On again."))
    assert client.ask(held, "And on again") == "On again."
    assert model.main[-1].count("Go on without the journal") == 1
    assert effect.lines == ["start", "end"]


def test_guard_refuses_the_held_chat_when_a_pinned_file_changed(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str
) -> None:
    pinned = host.home / PINNED
    original = pinned.read_bytes()
    host.kill()
    pinned.write_bytes(original + b"\n")
    try:
        host.start()
        status = recovery.status()
        assert status["active"] is False
        assert status["why_not"]["files"] == [PINNED]

        client.send(held, "Slip past")
        client.nudge(held)
        other = client.new_chat()
        model.script(say("Unrecorded."))
        assert client.ask(other, "Another chat") == "Unrecorded."

        assert len(model.main) == 2
        assert not client.chats()[held]["running"]
        assert effect.lines == ["start", "end"]
    finally:
        host.kill()
        pinned.write_bytes(original)
    host.start()
    assert recovery.held(held)["run"]["reason"]["code"] == "outcome_unknown"
