"""While a subordinate works: messages, nudges, holds, Stop, and turns that begin at it."""

from __future__ import annotations

import pytest

from refhost.model import answer, native, prose, use
from tests.support.scenes import calls, ended
from tests.support.story import Panel

UP, DONE = "the subordinate's answer", "effect a done"
DELEGATION = {"message": "dig", "reset": "true"}


def script(model, inner, *, when_done=DONE):
    """The first agent asks a subordinate, which asks for one effect."""
    model.script(answer("all done"), when=UP, repeat=True)
    model.script(answer(UP), when=when_done, repeat=True)
    model.script(inner, when="dig", repeat=True)
    model.script(use("call_subordinate", **DELEGATION), when="please", repeat=True)


def begin(world, until="start a"):
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    if until:
        client.wait(lambda: until in world.effects(), what=until)
    return chat


def told(request):
    return "\n".join(str(message["content"]) for message in request.messages if message["role"] == "user")


def last(model):
    return told(model.requests("chat")[-1])


def outcomes(world, chat):
    return [(call["path"], call["name"], call["outcome"]) for call in calls(world, chat) if call["kind"] == "tool"]


def test_a_hold_inside_a_subordinate_parks_and_a_decision_lets_the_same_coroutine_go_on(world, model):
    script(model, use("effect", arg="a", raises="timeout"))
    world.start()
    assert world.client().configure({"live_unknown": "hold"}).status == 200
    chat = begin(world, until="end a")
    panel = Panel(world.client())
    detail = panel.wait_held(chat)

    assert world.client().running(chat)
    assert panel.decide(detail, "confirmed_completed", "seen", result_text=DONE).status == 200

    assert ended(world, chat) == "completed"
    assert outcomes(world, chat)[:2] == [("A0", "call_subordinate", "ok"), ("A0.1:0", "effect", "confirmed")]
    assert (last(model).count(UP), world.effects()) == (1, ["start a", "end a"])


@pytest.mark.parametrize("killed", [False, True])
def test_two_messages_reach_the_subordinate_at_work_once_and_in_order(world, model, gate, killed):
    script(model, use("effect", arg="a", gate=str(gate)), when_done="and this")
    model.script(answer("it never heard"), when=DONE, repeat=True)
    world.start()
    chat = begin(world)
    world.client().send(chat, "hear this")
    world.client().send(chat, "and this")
    if killed:
        world.restart()
        panel = Panel(world.client())
        assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text=DONE).status == 200
    gate.touch()

    assert ended(world, chat) == "completed"
    heard = next(request for request in model.requests("chat") if "and this" in told(request))
    text = told(heard)
    assert (text.count("hear this"), text.count("and this"), text.count("dig")) == (1, 1, 1)
    assert text.index("hear this") < text.index("and this")
    assert "hear this" not in last(model)
    assert last(model).count(UP) == 1


@pytest.mark.parametrize("killed", [False, True])
def test_a_nudge_while_the_subordinates_model_is_asked_goes_on_at_the_subordinate(world, model, killed):
    model.script(answer("all done"), when=UP, repeat=True)
    model.script(prose("never heard", gate="never"), when="dig")
    model.script(answer(UP), when="dig", repeat=True)
    model.script(use("call_subordinate", **DELEGATION), when="please", repeat=True)
    world.start()
    chat = begin(world, until="")
    model.wait_requests(2)

    if killed:
        world.restart()
        world.client().nudge(chat)
        panel = Panel(world.client())
        assert panel.grant(panel.wait_held(chat)).status == 200
    else:
        world.client().nudge(chat)

    assert ended(world, chat) == "completed"
    assert outcomes(world, chat)[0] == ("A0", "call_subordinate", "ok")
    assert {call["path"] for call in calls(world, chat)} == {"A0", "A0.1:0"}
    assert last(model).count(UP) == 1


def test_a_restart_that_announces_itself_goes_on_at_the_subordinate_without_a_hold(world, model):
    model.script(answer("all done"), when=UP, repeat=True)
    model.script(prose("never heard", gate="never"), when="dig")
    model.script(answer(UP), when="dig", repeat=True)
    model.script(use("call_subordinate", **DELEGATION), when="please", repeat=True)
    world.start()
    chat = begin(world, until="")
    model.wait_requests(2)

    world.stop()
    world.start()

    assert ended(world, chat) == "completed"
    assert outcomes(world, chat)[0] == ("A0", "call_subordinate", "ok")
    assert {call["path"] for call in calls(world, chat)} == {"A0", "A0.1:0"}
    assert (len(model.requests("chat")), last(model).count(UP)) == (4, 1)


def test_a_nudge_in_a_subordinates_tool_is_held_for_that_tool_alone(world, model, gate):
    script(model, use("effect", arg="a", gate=str(gate)))
    world.start()
    chat = begin(world)

    world.client().nudge(chat)

    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert outcomes(world, chat) == [("A0", "call_subordinate", "open"), ("A0.1:0", "effect", "open")]
    assert panel.decide(detail, "confirmed_completed", "seen", result_text=DONE).status == 200
    assert ended(world, chat) == "completed"
    assert (last(model).count(UP), world.effects()) == (1, ["start a"])


@pytest.mark.parametrize("killed", [False, True])
def test_after_a_stop_inside_a_subordinate_the_chat_goes_on_with_its_first_agent(world, model, gate, killed):
    script(model, use("effect", arg="a", gate=str(gate)))
    world.start()
    chat = begin(world)
    panel = Panel(world.client())
    if killed:
        world.restart()
        panel = Panel(world.client())
        panel.wait_held(chat)
    run = next(run for run in panel.all_runs() if run["chat_id"] == chat)
    assert panel.decide(panel.run(run["run_id"]), "stop").status == 200
    gate.touch()
    world.client().wait_idle(chat)
    model.clear()
    model.script(answer("I see"))

    assert world.client().say(chat, "and now?") == "I see"

    assert last(model).count("please") == 1
    assert last(model).count("had not answered") == 1
    assert "effect(" in last(model)
    assert "dig" not in last(model)


def test_a_subordinate_that_is_called_again_meets_no_older_record(world, model):
    model.script(answer("all done"), when="the second answer", repeat=True)
    model.script(answer("the second answer"), when="dig deeper", repeat=True)
    model.script(use("call_subordinate", message="dig deeper"), when="the first answer", repeat=True)
    model.script(answer("the first answer"), when="dig", repeat=True)
    model.script(use("call_subordinate", message="dig"), when="please", repeat=True)
    world.start()
    client = world.client()
    chat = client.create_chat()

    assert client.say(chat, "please") == "all done"

    paths = [call["path"] for call in calls(world, chat) if call["name"] == "response"]
    assert paths == ["A0.1:0", "A0.2:0", "A0"]
    again = next(request for request in model.requests("chat") if "dig deeper" in told(request))
    assert told(again).count("dig") == 2


@pytest.mark.parametrize("killed", [False, True])
def test_a_turn_that_begins_at_a_subordinate_is_recorded_and_its_answer_goes_up(world, model, gate, killed):
    """A chat that was saved while its subordinate spoke goes on there; the plugin was off until then."""
    script(model, use("effect", arg="b"), when_done="effect b done")
    model.script(answer("all done"), when=UP, repeat=True)
    world.toggle_file(False)
    world.start()
    client = world.client()
    model.clear()
    model.script(use("call_subordinate", **DELEGATION), when="please")
    model.script(use("effect", arg="b"), prose("never heard", gate="never"), when="dig")
    chat = begin(world, until="end b")
    model.wait_requests(3)
    world.kill()
    world.toggle_file(True)
    model.clear()
    script(model, use("effect", arg="a", gate=str(gate)))
    world.start()

    client = world.client()
    client.send(chat, "go on")
    client.wait(lambda: "start a" in world.effects(), what="the subordinate's effect to start")
    if killed:
        world.restart()
        panel = Panel(world.client())
        assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text=DONE).status == 200
    gate.touch()

    assert ended(world, chat) == "completed"
    assert {call["path"] for call in calls(world, chat)} == {"A0", "A1"}
    assert (last(model).count(UP), last(model).count("please"), last(model).count("go on")) == (1, 1, 0)


def test_a_message_to_a_subordinate_below_an_answer_with_several_calls_keeps_its_place_after_a_kill(world, model, gate):
    """No resume point lies there, so the record of the next step says that the message stood before it."""
    model.script(answer("all done"), when="effect b done", repeat=True)
    model.script(answer(UP), when=DONE, repeat=True)
    model.script(use("effect", arg="a", gate=str(gate.with_name("second"))), when="hear this", repeat=True)
    model.script(use("effect", arg="x", gate=str(gate)), when="dig", repeat=True)
    model.script(native(("call_subordinate", DELEGATION), ("effect", {"arg": "b"})), when="please", repeat=True)
    world.start()
    chat = begin(world, until="start x")
    world.client().send(chat, "hear this")
    gate.touch()
    world.client().wait(lambda: "start a" in world.effects(), what="the second effect to start")

    world.restart()

    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text=DONE).status == 200
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start x", "end x", "start a", "start b", "end b"]
    heard = next(told(request) for request in model.requests("chat") if DONE in told(request))
    places = [heard.find(part) for part in ("dig", "effect x done", "hear this", DONE)]
    assert places == sorted(places)
    assert [heard.count(part) for part in ("dig", "effect x done", "hear this", DONE)] == [1] * 4
