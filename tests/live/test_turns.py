"""An undisturbed host with the plugin: each turn is a recorded run, each message counts once."""

from __future__ import annotations

import threading
import uuid

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say, shell, tool_call
from .recovery import Recovery


def test_a_turn_is_a_recorded_run(client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect) -> None:
    chat = client.new_chat()
    model.script(effect.once(), say("Written."))

    answer = client.ask(chat, "Write it down")

    assert answer == "Written."
    run = recovery.run(chat)
    assert run["run"]["state"] == "completed"
    assert [(call["kind"], call["outcome"]) for call in run["calls"]] == [
        ("model", "ok"),
        ("tool", "ok"),
        ("model", "ok"),
        ("tool", "ok"),
    ]
    assert [call["name"] for call in run["calls"] if call["kind"] == "tool"] == ["code_execution_tool", "response"]
    assert effect.lines == [effect.name]


def test_each_turn_of_a_chat_is_its_own_run(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    for number in range(3):
        model.script(say(f"Answer {number}."))
        client.ask(chat, f"Question number {number}")

    assert [run["state"] for run in recovery.runs(chat)] == ["completed"] * 3
    last = model.main[-1]
    assert [last.count(f"Question number {number}") for number in range(3)] == [1, 1, 1]


def test_a_repeated_message_id_gets_the_recorded_answer_and_no_second_bubble(
    client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat, ident = client.new_chat(), str(uuid.uuid4())
    model.script(say("Said once."))
    client.ask(chat, "Say it once", ident)

    again = client.ask(chat, "Say it once", ident)

    assert again == "Said once."
    assert client.bubbles(chat, "user") == ["Say it once"]
    assert client.bubbles(chat, "response") == ["Said once."]
    assert len(model.main) == 1
    assert len(recovery.runs(chat)) == 1


def test_a_repeated_message_id_after_a_restart_gets_the_recorded_answer(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat, ident = client.new_chat(), str(uuid.uuid4())
    model.script(say("Remembered."))
    client.ask(chat, "Remember this", ident)
    client.wait_idle(chat)

    host.restart()
    again = client.ask(chat, "Remember this", ident)

    assert again == "Remembered."
    assert client.bubbles(chat, "user") == ["Remember this"]
    assert len(model.main) == 1
    assert len(recovery.runs(chat)) == 1


def test_the_same_message_sent_twice_at_once_is_one_turn(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat, ident = client.new_chat(), str(uuid.uuid4())
    client.poll()  # signs in before the threads start
    held = model.hold(say("One answer."))
    answers: list[str] = []
    senders = [threading.Thread(target=lambda: answers.append(client.ask(chat, "Twice at once", ident))) for _ in range(2)]

    for sender in senders:
        sender.start()
    held.wait_arrived()
    held.release()
    for sender in senders:
        sender.join(60)

    assert answers == ["One answer.", "One answer."]
    assert client.bubbles(chat, "user") == ["Twice at once"]
    assert len(model.main) == 1
    assert len(recovery.runs(chat)) == 1


def test_the_same_id_with_other_content_is_refused_where_the_person_sees_it(
    client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat, ident = client.new_chat(), str(uuid.uuid4())
    model.script(say("The first."))
    client.ask(chat, "The first content", ident)

    answer = client.ask(chat, "Quite another content", ident)

    assert "refused" in answer
    assert any("refused" in text for text in client.bubbles(chat, "warning"))
    assert client.bubbles(chat, "user") == ["The first content"]
    assert len(model.main) == 1
    assert len(recovery.runs(chat)) == 1


def test_messages_to_a_running_turn_reach_the_model_once_and_in_order(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    additions = ["FIRST-ADDITION", "SECOND-ADDITION", "THIRD-ADDITION"]
    model.script(effect.gated(), say("All three seen."))
    client.send(chat, "Write it")
    effect.wait_for("start")

    for text in additions:
        client.send(chat, text)
    client.wait_answer(chat, "All three seen.")

    last = model.main[-1]
    assert [last.count(text) for text in additions] == [1, 1, 1]
    places = [last.text.index(text) for text in additions]
    assert places == sorted(places)
    assert client.bubbles(chat, "user") == ["Write it", *additions]
    assert len(recovery.runs(chat)) == 1


def test_a_message_during_a_model_call_is_delivered_once(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    first = model.hold(say("Cut off."), after=20)
    model.script(say("Both seen."))
    client.send(chat, "The beginning")
    first.wait_arrived()

    client.send(chat, "THE-ADDITION")
    first.release()
    client.wait_answer(chat, "Both seen.")

    assert model.main[-1].count("THE-ADDITION") == 1
    assert model.main[-1].count("The beginning") == 1
    recovery.wait_state(chat, "completed")


def test_a_tool_that_fails_is_a_result_and_the_turn_goes_on(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    model.script(tool_call("code_execution_tool", {"runtime": "no-such-runtime", "code": "x"}), say("It failed."))

    assert client.ask(chat, "Try it") == "It failed."

    assert recovery.run(chat)["run"]["state"] == "completed"
    assert len(model.main) == 2


def test_a_known_secret_reaches_no_file_of_the_journal(host: LiveHost, client: Client, model: ScriptedModel, effect: Effect) -> None:
    secret = host.secret
    chat = client.new_chat()
    model.script(shell(f"echo {secret} && {effect.command()}"), say("Done."))

    client.ask(chat, f"Use {secret} for it")

    files = [path for path in host.data.rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []
    assert effect.lines == [effect.name]


@pytest.mark.parametrize("verb", ["recovery_list", "recovery_run", "recovery_decide", "recovery_grant", "status"])
def test_a_post_without_csrf_token_is_refused(client: Client, recovery: Recovery, verb: str) -> None:
    reply = client.plugin(verb, {"tab": "all", "run_id": "any"}, csrf=False)

    assert reply.status == 403
    assert recovery.status()["active"] is True
