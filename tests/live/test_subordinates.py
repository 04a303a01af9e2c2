"""Subordinates on the real host: the deepest agent goes on where it was, and each answer goes up once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say, tool_call
from .recovery import NOTE, Recovery

DEEP, UP = "THE-DEEPEST-ANSWER", "THE-MIDDLE-ANSWER"


def delegate(task: str) -> str:
    return tool_call("call_subordinate", {"message": task, "reset": "true"})


def killed_in(host: LiveHost, effect: Effect) -> None:
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()


@pytest.fixture
def three(host: LiveHost, client: Client, model: ScriptedModel, effect: Effect) -> str:
    """A chat whose server was killed while the third agent of a chain ran a command."""
    chat = client.new_chat()
    model.script(delegate("ORDER-ONE"), delegate("ORDER-TWO"), effect.gated())
    client.send(chat, "Let somebody write the file")
    killed_in(host, effect)
    return chat


def test_a_chain_of_three_agents_goes_on_in_its_deepest(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, three: str
) -> None:
    run = recovery.held(three)
    assert run["run"]["reason"]["code"] == "outcome_unknown"
    tools = [(call["path"], call["name"]) for call in run["calls"] if call["kind"] == "tool"]
    assert tools == [("A0", "call_subordinate"), ("A0.1:0", "call_subordinate"), ("A0.1:0.1:0", "code_execution_tool")]
    model.script(say(DEEP), say(UP), say("All done."))

    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(three, "All done.")

    assert effect.lines == ["start", "end"]
    assert len(model.main) == 6
    deepest, middle, first = model.main[3:]
    assert (deepest.count("ORDER-TWO"), deepest.count(NOTE), deepest.count("Let somebody")) == (1, 1, 0)
    assert (middle.count("ORDER-ONE"), middle.count(DEEP), middle.count(NOTE)) == (1, 1, 0)
    assert (first.count("Let somebody write the file"), first.count(UP), first.count(DEEP)) == (1, 1, 0)
    assert [bubble["content"] for bubble in client.log(three, "subagent")] == [UP, DEEP]
    assert recovery.run(three)["run"]["state"] == "completed"
    model.script(say("The next turn."))
    assert client.ask(three, "Go on") == "The next turn."
    assert model.main[-1].count(UP) == 1


def test_killed_in_the_deepest_model_call_a_nudge_does_not_fall_back_to_the_first_agent(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat = client.new_chat()
    model.script(delegate("ORDER-ONE"), delegate("ORDER-TWO"))
    held = model.hold(say("Never heard."))
    client.send(chat, "Let somebody look")
    held.wait_arrived()
    host.restart()
    run = recovery.held(chat)
    assert run["run"]["reason"]["code"] == "model_interrupted"

    client.nudge(chat)
    assert len(model.main) == 3
    model.script(say(DEEP), say(UP), say("All done."))
    recovery.grant(recovery.held(chat)).ok()
    client.wait_answer(chat, "All done.")

    assert (model.main[3].count("ORDER-TWO"), model.main[3].count("Let somebody look")) == (1, 0)
    assert (model.main[-1].count(UP), model.main[-1].count("Let somebody look")) == (1, 1)


def test_a_nudge_of_a_living_subordinate_goes_on_at_the_subordinate(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    model.script(delegate("ORDER-ONE"))
    held = model.hold(say("Never heard."))
    client.send(chat, "Let somebody look")
    held.wait_arrived()
    model.script(say(UP), say("All done."))

    client.nudge(chat)
    client.wait_answer(chat, "All done.")

    assert (model.main[2].count("ORDER-ONE"), model.main[2].count("Let somebody look")) == (1, 0)
    assert model.main[-1].count(UP) == 1
    run = recovery.run(chat)
    assert [call["outcome"] for call in run["calls"] if call["name"] == "call_subordinate"] == ["ok"]


def test_messages_reach_the_subordinate_at_work_also_after_a_kill(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Callable[[str], Effect]
) -> None:
    effect = make_effect("order")
    chat = client.new_chat()
    model.script(delegate("ORDER-ONE"), effect.gated())
    client.send(chat, "Let somebody write the file")
    effect.wait_for("start")
    client.send(chat, "FIRST-ADDITION")
    client.send(chat, "SECOND-ADDITION")
    killed_in(host, effect)
    model.script(say(UP), say("All done."))

    for run in [recovery.held(chat)] if recovery.run(chat)["run"]["state"] == "held" else []:
        recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "All done.")

    heard = model.main[-2]
    assert [heard.count(text) for text in ("ORDER-ONE", "FIRST-ADDITION", "SECOND-ADDITION")] == [1, 1, 1]
    assert [model.main[-1].count(text) for text in (UP, "FIRST-ADDITION", "SECOND-ADDITION")] == [1, 0, 0]
    assert effect.lines == ["start", "end"]


def test_stopping_in_a_chain_leaves_a_chat_that_goes_on(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, three: str
) -> None:
    recovery.decide(recovery.held(three), "stop").ok()
    model.script(say("A new turn."))

    assert client.ask(three, "Something else") == "A new turn."

    assert model.main[-1].count("Let somebody write the file") == 1
    assert model.main[-1].count("had not answered") == 1
    assert effect.lines == ["start", "end"]
