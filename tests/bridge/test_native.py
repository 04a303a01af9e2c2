"""Several native calls in one answer: each has its place, is reused or held by itself, and all results go into one request."""

from __future__ import annotations

import pytest

from refhost.model import answer, native, use
from tests.support.scenes import calls, ended
from tests.support.story import FAULTS, Panel

A, B = "effect a done", "effect b done"


def effect(arg, **more):
    return "effect", {"arg": arg, **more}


def begin(world):
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    return chat


def told(request):
    return "\n".join(str(message["content"]) for message in request.messages if message["role"] == "user")


def decide(world, chat, done):
    """One hold at a time, as an honest person; returns the effects that were asked about."""
    client, panel, asked = world.client(), Panel(world.client()), []

    def look():
        held = [item for item in panel.needs_you() if item["chat_id"] == chat]
        busy = [run for run in panel.all_runs() if run["chat_id"] == chat and run["state"] in ("queued", "running")]
        return "held" if held else "" if busy or client.running(chat) else "done"

    while client.wait(look, what="the run to end or to be held") == "held":
        detail = panel.wait_held(chat)
        if detail["run"]["reason"]["code"] == "model_interrupted":
            assert panel.grant(detail).status == 200
            continue
        about = {offer["call_id"] for offer in detail["decisions"] if offer["allowed"] and offer["call_id"]}
        arg = next(call["arguments_masked"]["arg"] for call in detail["calls"] if call["call_id"] in about)
        assert len(about) == 1
        asked.append(arg)
        choice = "confirmed_completed" if arg in done else "confirmed_not_completed"
        more = {"result_text": f"effect {arg} done"} if arg in done else {}
        assert panel.decide(detail, choice, "looked", **more).status == 200
    return asked


def test_two_native_calls_have_a_place_each_and_both_results_go_into_one_request(world, model):
    model.script(native(effect("a"), effect("b")), answer("all done"))
    world.start()
    client = world.client()
    chat = client.create_chat()

    assert client.say(chat, "please") == "all done"

    assert [(call["kind"], call["name"], call["status"]) for call in calls(world, chat)][1:3] == [("tool", "effect", "saved")] * 2
    assert len(model.requests("chat")) == 2
    assert (told(model.requests("chat")[-1]).count(A), told(model.requests("chat")[-1]).count(B)) == (1, 1)


def test_killed_in_the_second_native_call_the_first_is_reused_and_only_the_second_is_asked_about(world, model, gate):
    model.script(answer("all done"), when=B, repeat=True)
    model.script(native(effect("a"), effect("b", gate=str(gate))), when="please", repeat=True)
    world.start()
    chat = begin(world)
    world.client().wait(lambda: "start b" in world.effects(), what="the second effect to start")

    world.restart()

    assert decide(world, chat, done="b") == ["b"]
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a", "start b"]
    assert len(model.requests("chat")) == 2
    assert (told(model.requests("chat")[-1]).count(A), told(model.requests("chat")[-1]).count(B)) == (1, 1)


def test_native_calls_are_held_one_by_one(world, model, gate):
    model.script(answer("all done"), when=B, repeat=True)
    model.script(native(effect("a", gate=str(gate)), effect("b", gate=str(gate))), when="please", repeat=True)
    world.start()
    chat = begin(world)
    world.client().wait(lambda: world.effects() == ["start a"], what="the first effect to start")
    world.restart()
    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text=A).status == 200
    world.client().wait(lambda: "start b" in world.effects(), what="the second effect to start")
    world.restart()

    assert decide(world, chat, done="b") == ["b"]
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "start b"]
    assert (told(model.requests("chat")[-1]).count(A), told(model.requests("chat")[-1]).count(B)) == (1, 1)


@pytest.mark.parametrize("moment", ["after:finish_call.tool:1", "before:begin_call.tool:2", "after:finish_call.tool:2"])
def test_killed_between_two_native_calls_nothing_is_done_twice(world, model, tmp_path, moment):
    model.script(answer("all done"), when=B, repeat=True)
    model.script(native(effect("a"), effect("b")), when="please", repeat=True)
    fault = {"FAULT": moment, "FAULT_MARK": str(tmp_path / "killed")}
    world.start(env=fault, inject=FAULTS)
    chat = begin(world)
    world.wait_dead()

    world.start(env=fault, inject=FAULTS)

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a", "start b", "end b"]
    assert len(model.requests("chat")) == 2
    assert (told(model.requests("chat")[-1]).count(A), told(model.requests("chat")[-1]).count(B)) == (1, 1)


def test_the_calls_after_a_native_subordinate_are_made_after_a_kill_inside_it(world, model, gate):
    model.script(answer("all done"), when=B, repeat=True)
    model.script(answer("the subordinate's answer"), when=A, repeat=True)
    model.script(use("effect", arg="a", gate=str(gate)), when="effect x done", repeat=True)
    model.script(use("effect", arg="x"), when="dig", repeat=True)
    model.script(native(("call_subordinate", {"message": "dig", "reset": "true"}), effect("b")), when="please", repeat=True)
    world.start()
    chat = begin(world)
    world.client().wait(lambda: "start a" in world.effects(), what="the subordinate's second effect to start")

    world.restart()

    assert decide(world, chat, done="a") == ["a"]
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start x", "end x", "start a", "start b", "end b"]
    last = told(model.requests("chat")[-1])
    assert (last.count("the subordinate's answer"), last.count(B)) == (1, 1)
    assert [call["outcome"] for call in calls(world, chat) if call["name"] == "call_subordinate"] == ["ok"]


def test_a_subordinate_that_was_the_only_native_call_goes_on_from_its_last_step(world, model, gate):
    model.script(answer("all done"), when="the subordinate's answer", repeat=True)
    model.script(answer("the subordinate's answer"), when=A, repeat=True)
    model.script(use("effect", arg="a", gate=str(gate)), when="effect x done", repeat=True)
    model.script(use("effect", arg="x"), when="dig", repeat=True)
    model.script(native(("call_subordinate", {"message": "dig"})), when="please", repeat=True)
    world.start()
    chat = begin(world)
    world.client().wait(lambda: "start a" in world.effects(), what="the subordinate's second effect to start")

    world.restart()

    assert decide(world, chat, done="a") == ["a"]
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start x", "end x", "start a"]
    assert told(model.requests("chat")[-1]).count("the subordinate's answer") == 1


def test_what_a_subordinate_knows_comes_back_when_its_call_was_saved_and_the_one_after_it_was_not(world, model, gate, tmp_path):
    """The call is saved, and the chat's last resume point lies before it: the subordinate works again from its records."""
    model.script(answer("all done"), when="it is still here", repeat=True)
    model.script(answer("it is still here"), when="do you remember", repeat=True)
    model.script(use("call_subordinate", message="do you remember?"), when=B, repeat=True)
    model.script(answer("the subordinate's answer"), when=A, repeat=True)
    model.script(use("effect", arg="a"), when="dig", repeat=True)
    delegation = ("call_subordinate", {"message": "dig", "reset": "true"})
    model.script(native(delegation, effect("b", gate=str(gate))), when="please", repeat=True)
    world.start()
    chat = begin(world)
    world.client().wait(lambda: "start b" in world.effects(), what="the call after the subordinate's to start")

    world.restart()

    assert decide(world, chat, done="b") == ["b"]
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a", "start b"]
    remembering = next(request for request in model.requests("chat") if "do you remember" in told(request))
    assert told(remembering).count(A) == 1


def states(panel):
    """How the jobs of the newest run stand."""
    return [child["state"] for run in panel.all_runs()[:1] for child in panel.run(run["run_id"])["children"]]


def test_a_native_parallel_and_the_call_after_it_are_each_done_once(world, model, gate):
    """Killed while one of its jobs has ended and one hangs: the jobs are its children, and its answer's next call comes after them."""
    jobs = [{"tool_name": "effect", "tool_args": {"arg": "a"}}, {"tool_name": "effect", "tool_args": {"arg": "b", "gate": str(gate)}}]
    model.script(answer("all done"), when="effect c done", repeat=True)
    model.script(native(("parallel", {"tool_calls": jobs}), effect("c")), when="please", repeat=True)
    world.start()
    chat = begin(world)
    client = world.client()
    panel = Panel(client)
    client.wait(lambda: states(panel) == ["completed", "running"] and "start b" in world.effects(), what="one job to end and one to hang")

    world.restart()
    panel = Panel(world.client())
    (item,) = world.client().wait(panel.needs_you, what="the hung job on hold")
    assert panel.decide(panel.run(item["run_id"]), "confirmed_completed", "looked", result_text=B).status == 200

    assert ended(world, chat) == "completed"
    assert sorted(world.effects()) == ["end a", "end c", "start a", "start b", "start c"]
    assert len(model.requests("chat")) == 2
    last = told(model.requests("chat")[-1])
    assert [last.count(done) for done in (A, B, "effect c done")] == [1, 1, 1]
