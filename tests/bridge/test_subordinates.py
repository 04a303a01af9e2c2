"""Subordinates: a chain of agents that is killed goes on where its deepest agent was, and each answer goes up once."""

from __future__ import annotations

import contextlib

import pytest

from refhost.model import answer, use
from tests.support.scenes import calls, ended
from tests.support.story import FAULTS, Panel

UP = "the middle's answer"
DEEP = "the deepest answer"


@pytest.fixture
def three(model, gate):
    """A script for three agents: A0 asks A1, A1 asks A2, A2 has an effect that waits."""
    model.script(answer("all done"), when=UP, repeat=True)
    model.script(answer(UP), when=DEEP, repeat=True)
    model.script(answer(DEEP), when="effect a done", repeat=True)
    model.script(use("effect", arg="a", gate=str(gate)), when="dig deeper", repeat=True)
    model.script(use("call_subordinate", message="dig deeper", reset="true"), when="dig here", repeat=True)
    model.script(use("call_subordinate", message="dig here", reset="true"), when="please", repeat=True)


def begin(world, text="please"):
    client = world.client()
    chat = client.create_chat()
    client.send(chat, text)
    return chat


def told(request):
    return "\n".join(str(message["content"]) for message in request.messages if message["role"] != "system")


def where(world, chat):
    return [(call["path"], call["kind"], call["name"], call["outcome"]) for call in calls(world, chat)]


def assert_told_once(model):
    """Every agent heard its message once, and every answer went up once."""
    last = told(model.requests("chat")[-1])
    assert last.count("please") == 1
    assert last.count(UP) == 1
    assert model.unscripted() == []
    for request in model.requests("chat"):
        assert all(told(request).count(part) <= 1 for part in (UP, DEEP, "effect a done"))


def test_a_chain_of_three_killed_in_its_deepest_tool_is_held_for_that_step_alone(world, model, gate, three):
    world.start()
    chat = begin(world)
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect to start")
    asked = len(model.requests("chat"))

    world.restart()

    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "outcome_unknown"
    assert [(call["path"], call["name"]) for call in detail["calls"] if call["kind"] == "tool"] == [
        ("A0", "call_subordinate"),
        ("A0.1:0", "call_subordinate"),
        ("A0.1:0.1:0", "effect"),
    ]
    asked_about = {offer["call_id"] for offer in detail["decisions"] if offer["allowed"] and offer["call_id"]}
    assert asked_about == {detail["calls"][-1]["call_id"]}
    assert "Step 6 of A2, effect" in next(item["content"] for item in world.client().logs(chat) if item["type"] == "warning")

    assert panel.decide(detail, "confirmed_completed", "seen", result_text="effect a done").status == 200

    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == asked + 3
    assert world.effects() == ["start a"]
    assert_told_once(model)
    assert [call["outcome"] for call in calls(world, chat) if call["name"] == "call_subordinate"] == ["ok", "ok"]
    bubbles = [item for item in world.client().logs(chat) if item["type"] == "subagent"]
    assert [item["content"] for item in bubbles] == [UP, DEEP]


MOMENTS = {
    "after:begin_call.tool:1": "the middle agent has not begun",
    "before:checkpoint:2": "it has no resume point yet",
    "after:begin_call.model:3": "the deepest agent asks its model",
    "after:finish_call.model:5": "its last answer is saved",
    "after:finish_call.tool:2": "it has answered, and its superior knows nothing",
    "before:close_call:1": "its superior's call is still open",
    "after:close_call:1": "its superior's call has a result that it never heard",
    "after:checkpoint:6": "the middle agent goes on",
    "after:close_call:2": "the answer has come up to the first agent",
}
"""Two agents were called, the deepest used a tool and answered. Every other moment has its kill in `make points`."""


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_subordinate_killed_at_any_moment_goes_on_and_nothing_is_done_twice(world, model, gate, three, tmp_path, moment):
    gate.touch()
    fault = {"FAULT": moment, "FAULT_MARK": str(tmp_path / "killed")}
    client = world.start(env=fault, inject=FAULTS).client()
    chat = client.create_chat()
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "please")
    world.wait_dead()

    world.start(env=fault, inject=FAULTS)

    settle(world, chat)
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a"]
    assert_told_once(model)
    paths = {call["path"] for call in calls(world, chat)}
    assert paths == {"A0", "A0.1:0", "A0.1:0.1:0"}


def settle(world, chat):
    """Decide as an honest person, until the chat is done."""
    client, panel = world.client(), Panel(world.client())

    def look():
        states = {run["state"] for run in panel.all_runs() if run["chat_id"] == chat}  # one look: what is busy now may be held in the next
        return "held" if "held" in states else "" if states & {"queued", "running"} or client.running(chat) else "done"

    while client.wait(look, what="the run to end or to be held") == "held":
        detail = panel.wait_held(chat)
        if detail["run"]["reason"]["code"] == "model_interrupted":
            reply = panel.grant(detail)
        elif "start a" in world.effects():
            reply = panel.decide(detail, "confirmed_completed", "seen", result_text="effect a done")
        else:
            reply = panel.decide(detail, "confirmed_not_completed", "not seen")
        assert reply.status == 200, reply.text
