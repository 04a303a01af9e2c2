"""A person stops what is at work: nothing more of it runs, the chat stays usable, and waiting messages are theirs to send."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from refhost.client import Reply
from refhost.model import Model, answer, prose, raw, use, with_
from refhost.world import World
from tests.support.scenes import Saying, begin_effect, ended, script_effect
from tests.support.story import API, FAULTS, Panel


def stop(world: World, **about: str) -> Reply:
    return world.client().ask(API + "recovery_stop", {"request_id": "r1", **about})


def newest(world: World, chat: str) -> dict[str, Any]:
    panel = Panel(world.client())
    return panel.run(next(run["run_id"] for run in panel.all_runs() if run["chat_id"] == chat))


def settle(world: World, detail: dict[str, Any], text: str, action: str) -> Reply:
    message = next(message for message in detail["messages"] if message["text"] == text)
    body = {"run_id": detail["run"]["run_id"], "version": detail["run"]["version"], "input_id": message["input_id"], "action": action}
    return world.client().ask(API + "message_settle", body)


def prompts(model: Model, number: int) -> str:
    return model.requests("chat")[number].prompt


def test_stop_in_a_tool_ends_it_at_once_and_names_it_to_the_next_turn(world: World, model: Model, gate: Path) -> None:
    script_effect(model, gate)
    model.script(answer("still here"), when="are you there", repeat=True)
    world.start()
    chat = begin_effect(world)

    reply = stop(world, chat_id=chat)

    assert reply.status == 200, reply.text
    assert reply.json["run"]["state"] == "stopped"
    assert stop(world, chat_id=chat).status == 404  # nothing is at work any more
    assert stop(world, run_id=reply.json["run"]["run_id"]).status == 200  # the same again is the same
    world.client().wait_idle(chat)
    model.clear()
    model.script(answer("still here"), when="are you there")
    assert world.client().say(chat, "are you there") == "still here"
    gate.touch()
    assert len(model.requests("chat")) == 2
    assert "It is unknown whether these steps happened" in prompts(model, 1)
    assert prompts(model, 1).count("please") == 1
    assert world.effects() == ["start a"]


def test_a_stop_before_the_chat_ever_had_a_file_brings_the_chat_back_with_what_is_unknown(world: World, model: Model, gate: Path) -> None:
    """Killed between the recorded Stop and the telling of it: the message, and what nobody knows, are not lost with the process."""
    script_effect(model, gate)
    model.script(raw("A name", gate="never"), kind="utility")  # the host saves a chat when it has found a name for it
    world.start(env={"FAULT": "after:decide.stop:1", "FAULT_MARK": str(world.folder / "killed")}, inject=FAULTS)
    chat = begin_effect(world)
    assert world.chat_file(chat) is None
    with contextlib.suppress(OSError):
        stop(world, chat_id=chat)
    world.wait_dead()
    model.clear()
    model.script(answer("still here"), when="are you there")
    model.script(raw("A name", gate="never"), kind="utility")  # it would save the chat again when that is deleted

    world.start()

    client = world.client()
    assert [item["content"] for item in client.logs(chat) if item["type"] == "user"] == ["please"]
    assert client.say(chat, "are you there") == "still here"
    assert "It is unknown whether these steps happened" in prompts(model, 1)
    client.remove(chat)
    assert world.restart().client().logs(chat) == []


def test_stop_in_a_stream_lets_the_caller_go(world: World, model: Model) -> None:
    model.script(with_(prose("never to be heard"), gate="never"), when="please")
    world.start()
    chat = world.client().create_chat()
    caller = Saying(world, chat, "please")
    model.wait_requests(1)

    assert stop(world, chat_id=chat).status == 200

    caller.join(60)
    assert "stopped by a person" in caller.answer
    assert not world.client().running(chat)


def test_stop_of_a_paused_chat_leaves_it_usable(world: World, model: Model, gate: Path) -> None:
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    world.client().pause(chat, True)
    gate.touch()

    assert stop(world, chat_id=chat).status == 200

    model.clear()
    model.script(answer("fine"), when="go on")
    assert world.client().say(chat, "go on") == "fine"


def test_stop_reaches_the_deepest_subordinate(world: World, model: Model, gate: Path) -> None:
    model.script(use("effect", arg="a", gate=str(gate)), when="deep work")
    model.script(use("call_subordinate", message="deep work", reset="true"), when="please")
    world.start()
    chat = begin_effect(world)

    assert stop(world, chat_id=chat).status == 200

    model.clear()
    model.script(answer("the first agent"), when="who is there")
    assert world.client().say(chat, "who is there") == "the first agent"
    gate.touch()
    assert newest(world, chat)["run"]["state"] == "completed"
    assert "deep work" in prompts(model, -1)
    assert len(model.requests("chat")) == 3


@pytest.fixture
def left_over(world: World, model: Model, gate: Path) -> str:
    """A chat that was stopped while two messages waited; one of them stood in the host's own slot."""
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    for text in ("the second", "the third"):
        world.client().send(chat, text)
    assert stop(world, chat_id=chat).status == 200
    model.clear()
    return chat


def test_messages_that_a_stop_left_over_are_sent_or_discarded_by_a_person(world: World, model: Model, left_over: str) -> None:
    detail = newest(world, left_over)
    assert [(m["text"], m["state"]) for m in detail["messages"]] == [("the second", "offered"), ("the third", "offered")]
    model.script(answer("heard"), when="something else")
    assert world.client().say(left_over, "something else") == "heard"
    assert "the second" not in prompts(model, -1)

    ident = next(m["input_id"] for m in detail["messages"] if m["text"] == "the third")
    assert "Nobody has sent it yet" in world.client().say(left_over, "the third", ident)
    assert settle(world, detail, "the third", "discard").status == 200
    assert "was not sent" in world.client().say(left_over, "the third", ident)
    model.script(answer("done"), when="the second")
    assert settle(world, detail, "the second", "send").status == 200

    assert ended(world, left_over) == "completed"
    world.client().wait_idle(left_over)
    assert prompts(model, -1).count("the second") == 1
    assert "the third" not in prompts(model, -1)
    assert settle(world, detail, "the third", "send").status == 422
    after = Panel(world.client()).run(detail["run"]["run_id"])
    assert [(m["text"], m["state"]) for m in after["messages"]] == [("the third", "discarded")]
    bubbles = [item["content"] for item in world.client().logs(left_over) if item["type"] == "user"]
    assert bubbles == ["please", "the second", "the third", "something else"]


def test_one_is_sent_into_the_turn_of_the_other_and_both_outlive_a_kill(world: World, model: Model, left_over: str) -> None:
    detail = newest(world, left_over)
    model.script(with_(answer("never"), gate="never"), when="the second")
    assert settle(world, detail, "the second", "send").status == 200
    model.wait_requests(2)
    assert settle(world, detail, "the third", "send").status == 200
    world.kill()
    model.clear()
    model.script(answer("both heard"), when="the third", repeat=True)
    world.start()

    panel = Panel(world.client())
    panel.grant(panel.wait_held(left_over))

    assert ended(world, left_over) == "completed"
    last = prompts(model, -1)
    assert (last.count("the second"), last.count("the third")) == (1, 1)
    assert panel.run(detail["run"]["run_id"])["messages"] == []


def test_a_message_is_settled_as_it_was_shown(world: World, model: Model, left_over: str) -> None:
    detail = newest(world, left_over)
    stale = {**detail, "run": {**detail["run"], "version": detail["run"]["version"] - 1}}

    assert settle(world, stale, "the second", "discard").status == 409
    assert [m["state"] for m in newest(world, left_over)["messages"]] == ["offered", "offered"]
