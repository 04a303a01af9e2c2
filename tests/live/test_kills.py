"""kill -9 at known moments of a turn: nothing is lost, nothing runs twice, a person decides what is unknown."""

from __future__ import annotations

import uuid

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say, tool_call
from .recovery import NOTE, Recovery


def test_first_model_call_of_a_new_chat(host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    held = model.hold(say("Never heard."))
    client.send(chat, "Do not lose me")
    held.wait_arrived()

    host.restart()

    run = recovery.held(chat)
    assert run["run"]["reason"]["code"] == "model_interrupted"
    assert client.bubbles(chat, "user") == ["Do not lose me"]
    assert len(client.bubbles(chat, "warning")) == 1
    assert len(model.main) == 1

    model.script(say("After the grant."))
    recovery.grant(run).ok()
    client.wait_answer(chat, "After the grant.")

    assert model.main[-1].count("Do not lose me") == 1
    assert client.bubbles(chat, "user") == ["Do not lose me"]
    assert recovery.run(chat)["run"]["state"] == "completed"


@pytest.fixture
def in_the_tool(host: LiveHost, client: Client, model: ScriptedModel, effect: Effect) -> str:
    """A chat whose server was killed inside the first tool; the command itself went on to its end."""
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    return chat


def test_first_tool_is_held_and_named(client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str) -> None:
    run = recovery.held(in_the_tool)

    assert run["run"]["reason"]["code"] == "outcome_unknown"
    assert [(call["kind"], call["outcome"]) for call in run["calls"]] == [("model", "ok"), ("tool", "open")]
    warning = client.bubbles(in_the_tool, "warning")[0]
    assert "code_execution_tool" in warning
    assert client.chats()[in_the_tool]["_durable_execution"]["state"] == "held"
    assert client.bubbles(in_the_tool, "user") == ["Write the file"]
    assert effect.lines == ["start", "end"]
    assert len(model.main) == 1


def test_a_held_chat_keeps_the_name_that_it_was_given_in_the_background(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    client.wait("the chat's name", lambda: client.chats()[chat]["name"] == "Live chat")

    host.kill()
    effect.let_go()
    host.start()

    assert recovery.held(chat)["run"]["title"] == "Live chat"
    assert client.chats()[chat]["name"] == "Live chat"


def test_it_happened_goes_on_without_running_the_command(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str
) -> None:
    run = recovery.held(in_the_tool)
    model.script(say("Finished."))

    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(in_the_tool, "Finished.")

    assert effect.lines == ["start", "end"]
    last = model.main[-1]
    assert len(model.main) == 2
    assert last.count("Write the file") == 1
    assert last.count("tool_result") == 1
    assert last.count(NOTE) == 1
    assert [NOTE in bubble["content"] for bubble in client.log(in_the_tool, "code_exe")] == [True]
    assert not client.chats()[in_the_tool].get("_durable_execution")
    assert client.bubbles(in_the_tool, "response") == ["Finished."]
    assert recovery.run(in_the_tool)["run"]["state"] == "completed"


def test_it_did_not_happen_runs_the_command_once_more(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str
) -> None:
    run = recovery.held(in_the_tool)
    model.script(say("Finished."))

    recovery.decide(run, "confirmed_not_completed", note=NOTE).ok()
    client.wait_answer(in_the_tool, "Finished.")

    effect.wait_for("start", "end", "start", "end")
    assert len(model.main) == 2
    assert model.main[-1].count("tool_result") == 1


def test_start_over_asks_to_accept_that_it_may_happen_twice(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str
) -> None:
    run = recovery.held(in_the_tool)
    refused = recovery.decide(run, "new_attempt")
    assert (refused.status, refused.body["code"]) == (422, "ack_missing")
    assert effect.lines == ["start", "end"]

    model.script(say("Finished."))
    recovery.decide(run, "new_attempt", ack=True).ok()
    client.wait_answer(in_the_tool, "Finished.")

    effect.wait_for("start", "end", "start", "end")


def test_stop_ends_the_run_and_the_chat_goes_on(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str
) -> None:
    recovery.decide(recovery.held(in_the_tool), "stop").ok()
    recovery.wait_state(in_the_tool, "stopped")
    model.script(say("A new turn."))

    assert client.ask(in_the_tool, "Go on from here") == "A new turn."

    assert effect.lines == ["start", "end"]
    assert model.main[-1].count("Write the file") == 1


def test_a_second_kill_while_held_changes_nothing(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str
) -> None:
    before = recovery.held(in_the_tool)

    host.restart()

    after = recovery.held(in_the_tool)
    assert after["run"]["run_id"] == before["run"]["run_id"]
    assert after["run"]["reason"] == before["run"]["reason"]
    assert len(client.bubbles(in_the_tool, "warning")) == 1
    assert client.bubbles(in_the_tool, "user") == ["Write the file"]
    assert effect.lines == ["start", "end"]
    assert len(model.main) == 1


def test_a_decision_survives_a_kill_before_it_was_acted_on(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str
) -> None:
    answer = model.hold(say("Never heard."))
    recovery.decide(recovery.held(in_the_tool), "confirmed_completed", note=NOTE).ok()
    answer.wait_arrived()

    host.restart()
    run = recovery.held(in_the_tool)

    assert run["run"]["reason"]["code"] == "model_interrupted"
    model.script(say("Finished."))
    recovery.grant(run).ok()
    client.wait_answer(in_the_tool, "Finished.")
    assert effect.lines == ["start", "end"]
    assert model.main[-1].count(NOTE) == 1


def test_second_model_call_keeps_what_the_tool_returned(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.once())
    held = model.hold(say("Never heard."))
    client.send(chat, "Write the line")
    held.wait_arrived()

    host.restart()
    run = recovery.held(chat)

    assert run["run"]["reason"]["code"] == "model_interrupted"
    assert effect.lines == [effect.name]
    model.script(say("Written."))
    recovery.grant(run).ok()
    client.wait_answer(chat, "Written.")
    last = model.main[-1]
    assert len(model.main) == 3
    assert (last.count("Write the line"), last.count("tool_result")) == (1, 1)
    assert last.count("was restarted during this turn. These were lost: shell sessions") == 1
    assert effect.lines == [effect.name]
    assert len(client.log(chat, "code_exe")) == 1


def test_a_wait_goes_on_by_itself_and_the_model_is_not_asked_again(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat = client.new_chat()
    model.script(tool_call("wait", {"seconds": 9}))
    client.send(chat, "Wait a little")
    client.wait("the wait", lambda: (runs := recovery.runs(chat)) and (runs[0]["step"] or {}).get("name") == "wait")

    model.script(say("Waited."))
    host.restart()
    client.wait_answer(chat, "Waited.")

    assert len(model.main) == 2
    assert model.main[-1].count("Wait a little") == 1
    assert recovery.run(chat)["run"]["state"] == "completed"
    assert client.bubbles(chat, "warning") == []


def test_between_interventions_every_message_arrives_once_and_in_order(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    additions = ["FIRST-ADDITION", "SECOND-ADDITION", "THIRD-ADDITION"]
    model.script(effect.gated())
    client.send(chat, "Write it")
    effect.wait_for("start")
    idents = [str(uuid.uuid4()) for _ in additions]

    for text, ident in zip(additions, idents, strict=True):
        client.send(chat, text, ident)
    model.default = lambda _: say("All three seen.")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    run = recovery.settle(chat, happened=lambda call: True)

    assert run["run"]["state"] == "completed"
    client.wait_answer(chat, "All three seen.")
    last = model.main[-1]
    assert [last.count(text) for text in additions] == [1, 1, 1]
    places = [last.text.index(text) for text in additions]
    assert places == sorted(places)
    assert sorted(client.bubbles(chat, "user")) == sorted(["Write it", *additions])
    assert effect.lines == ["start", "end"]


def test_other_chats_are_not_disturbed(client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, in_the_tool: str) -> None:
    recovery.held(in_the_tool)
    other = client.new_chat()
    model.script(say("All well here."))

    assert client.ask(other, "How are you here") == "All well here."

    assert recovery.run(other)["run"]["state"] == "completed"
    assert recovery.run(in_the_tool)["run"]["state"] == "held"
