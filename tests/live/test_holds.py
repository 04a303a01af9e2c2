"""A held chat: nothing slips past the hold, a person can always get out, the rest of the host works."""

from __future__ import annotations

import uuid

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery


@pytest.fixture
def held(host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect) -> str:
    """A chat that is held because its server was killed inside a command, which then finished."""
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


def nothing_happened(client: Client, model: ScriptedModel, effect: Effect, chat: str) -> None:
    assert not client.chats()[chat]["running"]
    assert client.chats()[chat]["_durable_execution"]["state"] == "held"
    assert len(model.main) == 1
    assert effect.lines == ["start", "end"]


def test_nudge_does_not_slip_past(client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str) -> None:
    client.nudge(held)

    nothing_happened(client, model, effect, held)
    assert recovery.held(held)["run"]["reason"]["code"] == "outcome_unknown"


def test_pause_and_resume_do_not_slip_past(client: Client, model: ScriptedModel, effect: Effect, held: str) -> None:
    client.pause(held)
    client.pause(held, paused=False)

    nothing_happened(client, model, effect, held)


def test_a_new_message_is_kept_and_delivered_once_after_the_decision(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str
) -> None:
    answer = client.ask(held, "A-MESSAGE-MEANWHILE")

    assert "hold" in answer
    nothing_happened(client, model, effect, held)
    run = recovery.held(held)
    assert [message["text"] for message in run["messages"]] == ["A-MESSAGE-MEANWHILE"]

    model.default = lambda _: say("Both answered.")
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    recovery.wait_state(held, "completed")
    client.wait_idle(held)

    assert model.main[-1].count("A-MESSAGE-MEANWHILE") == 1
    assert model.main[-1].count("Write the file") == 1
    assert client.bubbles(held, "user") == ["Write the file", "A-MESSAGE-MEANWHILE"]
    assert effect.lines == ["start", "end"]


def test_a_message_from_a_second_tab_does_not_slip_past(
    host: LiveHost, client: Client, model: ScriptedModel, effect: Effect, held: str
) -> None:
    second = Client(host)

    second.send(held, "From the other tab")

    nothing_happened(client, model, effect, held)


def test_a_kept_message_outlives_another_kill(host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, held: str) -> None:
    client.send(held, "A-MESSAGE-MEANWHILE")

    host.restart()
    run = recovery.held(held)

    assert [message["text"] for message in run["messages"]] == ["A-MESSAGE-MEANWHILE"]
    assert client.bubbles(held, "user").count("A-MESSAGE-MEANWHILE") == 1
    model.default = lambda _: say("Both answered.")
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    recovery.wait_state(held, "completed")
    client.wait_idle(held)
    assert model.main[-1].count("A-MESSAGE-MEANWHILE") == 1


def test_after_stop_a_kept_message_is_offered_and_never_sent_by_itself(
    client: Client, model: ScriptedModel, recovery: Recovery, held: str
) -> None:
    client.send(held, "A-MESSAGE-MEANWHILE")

    recovery.decide(recovery.held(held), "stop").ok()
    recovery.wait_state(held, "stopped")
    model.script(say("Next turn."))
    client.ask(held, "The next turn")

    assert len(model.main) == 2
    assert [message["state"] for message in recovery.detail(recovery.runs(held)[-1]["run_id"])["messages"]] == ["offered"]


def test_a_confirmation_needs_a_note(client: Client, recovery: Recovery, effect: Effect, held: str) -> None:
    run = recovery.held(held)

    refused = recovery.decide(run, "confirmed_completed")

    assert (refused.status, refused.body["code"], refused.body["field"]) == (422, "note_missing", "note")
    assert recovery.held(held)["run"] == run["run"]


def test_a_stale_version_and_another_digest_change_nothing(client: Client, recovery: Recovery, held: str) -> None:
    run = recovery.held(held)

    stale = recovery.decide(run, "stop", version=run["run"]["version"] - 1)
    other = recovery.decide(run, "stop", shown_digest="0" * 64)

    assert (stale.status, stale.body["code"]) == (409, "stale_version")
    assert (other.status, other.body["code"]) == (409, "shown_changed")
    assert recovery.held(held)["run"] == run["run"]


def test_the_same_request_twice_is_one_decision(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str
) -> None:
    run, request = recovery.held(held), str(uuid.uuid4())
    model.script(say("Finished."))

    first = recovery.decide(run, "confirmed_completed", note=NOTE, request_id=request).ok()
    second = recovery.decide(run, "confirmed_completed", note=NOTE, request_id=request).ok()
    client.wait_answer(held, "Finished.")

    assert second["run"]["run_id"] == first["run"]["run_id"]
    assert len(recovery.run(held)["recorded"]) == 1
    assert effect.lines == ["start", "end"]


def test_two_tabs_decide_and_one_wins(client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str) -> None:
    run = recovery.held(held)
    model.script(say("Finished."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()

    late = recovery.decide(run, "confirmed_not_completed", note=NOTE)

    assert late.status == 409
    client.wait_answer(held, "Finished.")
    assert effect.lines == ["start", "end"]


def test_a_decision_without_csrf_token_changes_nothing(client: Client, recovery: Recovery, held: str) -> None:
    run = recovery.held(held)
    choice = recovery.choice(run, "stop")
    body = {"run_id": run["run"]["run_id"], "version": run["run"]["version"], "call_id": None, "decision": "stop"}

    reply = client.plugin("recovery_decide", body | {"shown_digest": choice["digest"], "request_id": "x"}, csrf=False)

    assert reply.status == 403
    assert recovery.held(held)["run"] == run["run"]


def test_deleting_the_chat_counts_as_stop(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str
) -> None:
    client.remove(held)
    host.restart()

    assert held not in client.chats()
    assert [run["state"] for run in recovery.runs(held)] == ["stopped"]
    assert held not in [item["chat_id"] for item in recovery.waiting()]
    assert effect.lines == ["start", "end"]
    assert len(model.main) == 1


def test_resetting_the_chat_counts_as_stop(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str
) -> None:
    client.reset(held)
    assert not client.chats()[held].get("_durable_execution")

    host.restart()

    assert client.bubbles(held, "user") == []
    assert [run["state"] for run in recovery.runs(held)] == ["stopped"]
    model.script(say("Fresh."))
    assert client.ask(held, "A fresh start") == "Fresh."
    assert model.main[-1].count("Write the file") == 0


def test_nudge_in_a_running_tool_is_held_and_does_not_run_it_again(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")

    client.nudge(chat)

    run = recovery.held(chat)
    assert run["run"]["reason"]["code"] == "outcome_unknown"
    effect.let_go()
    effect.wait_for("start", "end")
    assert len(model.main) == 1
    model.script(say("Finished."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "Finished.")
    assert effect.lines == ["start", "end"]
    assert model.main[-1].count("tool_result") == 1


def test_nudge_in_a_model_call_asks_the_model_again(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    held = model.hold(say("Never heard."))
    client.send(chat, "Answer me")
    held.wait_arrived()

    model.script(say("Here it is."))
    client.nudge(chat)
    client.wait_answer(chat, "Here it is.")

    assert model.main[-1].count("Answer me") == 1
    assert [run["state"] for run in recovery.runs(chat)] == ["completed"]
    assert chat not in [item["chat_id"] for item in recovery.waiting()]
