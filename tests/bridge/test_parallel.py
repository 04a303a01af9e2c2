"""Jobs of `parallel`, with real kills: what has ended is reused, what is unknown is asked one by one, the parent waits for all."""

from __future__ import annotations

import json

import pytest

from refhost.model import answer, use
from tests.support.scenes import locked
from tests.support.story import Panel


def tool(arg: str, **args: object) -> dict[str, object]:
    return {"tool_name": "effect", "tool_args": {"arg": arg, **args}}


def below(message: str) -> dict[str, object]:
    return {"tool_name": "call_subordinate", "tool_args": {"message": message}}


def script(model, *calls, **how):
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("parallel", tool_calls=list(calls), **how), when="please")


def begin(world, text="please"):
    client = world.client()
    chat = client.create_chat()
    client.send(chat, text)
    return chat


def told(model, which=-1):
    """What the model heard last of its jobs: state and result or error, in order."""
    prompt = model.requests("chat")[which].prompt
    content, _ = json.JSONDecoder().raw_decode(prompt[prompt.rindex('{"tool_name": "parallel", "tool_result"') :])
    jobs = json.loads(content["tool_result"])["jobs"]
    return [(job["state"], job.get("result", job.get("error", ""))) for job in jobs]


def root(world, chat):
    panel = Panel(world.client())
    return panel.run(next(run["run_id"] for run in panel.all_runs() if run["chat_id"] == chat))


def children(world, chat):
    return [child["state"] for child in root(world, chat)["children"]]


def wait_children(world, chat, *states):
    world.client().wait(lambda: children(world, chat) == list(states), what=f"jobs {states}")


def wait_replay(world, chat):
    """After a restart the parent goes on until it waits for its jobs again."""
    world.client().wait(lambda: root(world, chat)["calls"][-1]["attempts"] > 1, what="the replay")


def held(world, count):
    panel = Panel(world.client())
    items = world.client().wait(lambda: panel.needs_you() if len(panel.needs_you()) == count else None, what=f"{count} runs on hold")
    return {view["run"]["job"]["n"]: view for view in (panel.run(item["run_id"]) for item in items)}


def decide(world, detail, choice, note="looked outside", **more):
    reply = Panel(world.client()).decide(detail, choice, note, **more)
    assert reply.status == 200, reply.text


def ended(world, chat):
    states = ("completed", "stopped", "failed")
    return world.client().wait(lambda: (run := root(world, chat)["run"])["state"] in states and run["state"], what="the run to end")


def chats(world):
    return {entry["id"] for entry in world.client().poll()["contexts"]}


# -- tools --------------------------------------------------------------------------------------


def test_jobs_are_runs_of_their_own(world, model):
    world.start()
    script(model, tool("a"), tool("b"))

    chat = begin(world)

    assert ended(world, chat) == "completed"
    view = root(world, chat)
    assert sorted(world.effects()) == ["end a", "end b", "start a", "start b"]
    assert [(child["job"]["n"], child["job"]["name"], child["state"]) for child in view["children"]] == [
        (1, "effect", "completed"),
        (2, "effect", "completed"),
    ]
    assert told(model) == [("success", "effect a done"), ("success", "effect b done")]
    assert len(Panel(world.client()).all_runs()) == 1


def test_a_kill_with_one_finished_and_two_hung(world, model, gate):
    world.start()
    script(model, tool("a"), tool("b", gate=str(gate)), tool("c", gate=str(gate)))
    chat = begin(world)
    wait_children(world, chat, "completed", "running", "running")
    world.client().wait(lambda: {"start b", "start c"} <= set(world.effects()), what="the others to start")

    world.restart()
    waiting = held(world, 2)
    wait_replay(world, chat)

    assert sorted(waiting) == [2, 3]
    assert {view["run"]["chat_id"] for view in waiting.values()} == {chat}
    assert {view["run"]["reason"]["code"] for view in waiting.values()} == {"outcome_unknown"}
    assert root(world, chat)["run"]["state"] == "running"  # it waits, and is not held for them
    assert world.client().context(chat)["_durable_execution"]["state"] == "held"
    decide(world, waiting[2], "confirmed_completed", result_text="b is done")
    assert children(world, chat)[2] == "held"
    gate.touch()
    decide(world, waiting[3], "confirmed_not_completed")

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "effect a done"), ("success", "b is done"), ("success", "effect c done")]
    assert len(model.requests("chat")) == 2
    assert sorted(world.effects()) == ["end a", "end c", "start a", "start b", "start c", "start c"]
    assert "_durable_execution" not in world.client().context(chat)


def test_a_job_that_was_taken_in_and_had_not_begun_begins_after_the_restart(world, model, gate):
    world.start()
    script(model, tool("a", gate=str(gate)))
    model.script(answer("other"), when="other")
    chat = begin(world)
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect")
    world.restart()
    view = held(world, 1)[1]
    gate.touch()

    decide(world, view, "new_attempt")

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "effect a done")]


def test_a_wait_that_runs_out_proves_nothing_about_a_job_that_waits_for_a_person(world, model, gate):
    world.start()
    script(model, tool("a", gate=str(gate)), timeout=1)
    chat = begin(world)
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect")
    world.restart()
    view = held(world, 1)[1]
    before = len(model.requests("chat"))
    wait_replay(world, chat)
    for _ in range(3):  # three times as long as the wait
        world.client().wait(_later(), what="time")

    assert len(model.requests("chat")) == before
    decide(world, view, "confirmed_completed", result_text="it is done")

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "it is done")]


def _later():
    import time

    end = time.monotonic() + 0.6
    return lambda: time.monotonic() > end


def test_stop_of_the_parent_stops_its_jobs_and_leaves_a_usable_chat(world, model, gate):
    world.start()
    model.script(answer("still here"), when="and now")
    model.script(use("effect", arg="s", gate=str(gate)), use("effect", arg="t"), when="sub one")
    script(model, tool("a", gate=str(gate)), below("sub one"))
    chat = begin(world)
    client = world.client()
    client.wait(lambda: {"start a", "start s"} <= set(world.effects()), what="both to start")

    decide(world, root(world, chat), "stop")
    gate.touch()

    assert ended(world, chat) == "stopped"
    assert children(world, chat) == ["stopped", "stopped"]
    client.wait_idle(chat)
    assert client.say(chat, "and now") == "still here"
    assert "start t" not in world.effects()


def test_stop_of_one_job_lets_its_parent_go_on(world, model, gate):
    world.start()
    script(model, tool("a"), tool("b", gate=str(gate)))
    chat = begin(world)
    wait_children(world, chat, "completed", "running")
    world.client().wait(lambda: "start b" in world.effects(), what="b")

    decide(world, Panel(world.client()).run(root(world, chat)["children"][1]["run_id"]), "stop")

    assert ended(world, chat) == "completed"
    assert [state for state, _ in told(model)] == ["success", "cancelled"]


def test_a_stop_during_the_wait_holds_after_a_restart(world, model, gate):
    world.start()
    script(model, tool("a", gate=str(gate)))
    chat = begin(world)
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect")
    world.restart()
    held(world, 1)
    wait_replay(world, chat)

    decide(world, root(world, chat), "stop")
    world.restart()

    assert children(world, chat) == ["stopped"]
    assert Panel(world.client()).needs_you() == []
    assert world.effects() == ["start a"]


# -- subordinates -------------------------------------------------------------------------------


def test_a_subordinate_goes_on_in_the_chat_that_it_had(world, model, gate):
    world.start()
    model.script(use("effect", arg="one"), answer("one done"), when="sub one")
    model.script(use("effect", arg="two"), use("effect", arg="two again", gate=str(gate)), answer("two done"), when="sub two")
    script(model, below("sub one"), below("sub two"))
    chat = begin(world)
    client = world.client()
    client.wait(lambda: "start two again" in world.effects(), what="the second step")
    wait_children(world, chat, "completed", "running")
    before = chats(world)
    asked = len(model.requests("chat"))

    world.restart()
    view = held(world, 1)[2]

    assert view["run"]["chat_id"] == chat
    assert view["run"]["job"]["chat_id"] in before
    decide(world, view, "confirmed_completed", result_text="two again is done")

    assert ended(world, chat) == "completed"
    assert chats(world) == before
    assert world.effects().count("start two") == 1
    assert world.effects().count("start two again") == 1
    assert len(model.requests("chat")) == asked + 2  # the worker's next step, and the parent's
    assert len(model.requests("chat")[-2].prompt.split("sub two")) == 2
    worker = client.logs(view["run"]["job"]["chat_id"])
    assert [item["content"] for item in worker if item["type"] == "user"] == ["sub two"]
    assert told(model) == [("success", "one done"), ("success", "two done")]


def test_jobs_of_a_job_are_reused_or_held_one_by_one_and_reach_who_asked_for_them(world, model, gate):
    world.start()
    deep = [tool("deep one"), tool("deep two", gate=str(gate))]
    model.script(answer("both are done below"), when="deep two done", repeat=True)
    model.script(use("parallel", tool_calls=deep), when="sub one")
    model.script(answer("all done"), when="both are done below", repeat=True)
    model.script(use("parallel", tool_calls=[below("sub one"), tool("beside")]), when="please")
    chat = begin(world)
    client = world.client()
    wait_children(world, chat, "running", "completed")
    worker = root(world, chat)["children"][0]["run_id"]
    deep_states = ["completed", "running"]
    client.wait(lambda: [each["state"] for each in Panel(client).run(worker)["children"]] == deep_states, what="one deep job to end")
    client.wait(lambda: "start deep two" in world.effects(), what="the other one to start")
    asked = len(model.requests("chat"))

    world.restart()
    panel = Panel(world.client())
    (item,) = world.client().wait(panel.needs_you, what="the deepest job on hold")
    decide(world, panel.run(item["run_id"]), "confirmed_completed", result_text="effect deep two done")

    assert ended(world, chat) == "completed"
    assert sorted(world.effects()) == ["end beside", "end deep one", "start beside", "start deep one", "start deep two"]
    assert len(model.requests("chat")) == asked + 2  # the subordinate's next step, and its parent's
    assert told(model, -2) == [("success", "effect deep one done"), ("success", "effect deep two done")]
    assert told(model) == [("success", "both are done below"), ("success", "effect beside done")]


def test_a_subordinate_that_was_cut_off_in_its_model_call(world, model):
    world.start()
    model.script(use("effect", arg="one"), {**answer("late"), "gate": "never"}, when="sub one")
    script(model, below("sub one"), tool("a"))
    chat = begin(world)
    model.wait_requests(3)
    wait_children(world, chat, "running", "completed")

    world.restart()
    view = held(world, 1)[1]

    assert view["run"]["reason"]["code"] == "model_interrupted"
    model.clear()
    model.script(answer("all done"), when="tool_result", repeat=True)
    assert Panel(world.client()).grant(view).status == 200
    assert ended(world, chat) == "completed"
    assert world.effects().count("start one") == 1


def test_without_the_plugin_a_kill_loses_the_parent_and_its_jobs(tmp_path, model, gate):
    from refhost.world import World

    with World(tmp_path / "bare", model=model, plugin=None) as bare:
        bare.start()
        script(model, tool("a"), tool("b", gate=str(gate)))
        chat = begin(bare)
        bare.client().wait(lambda: {"end a", "start b"} <= set(bare.effects()), what="a finished and b hung")

        bare.restart()
        gate.touch()

        assert not bare.client().running(chat)
        assert len(model.requests("chat")) == 1
        assert bare.effects().count("end b") == 0


# -- jobs of a parent that does not wait --------------------------------------------------------


def background(model, *calls):
    """A parent that starts jobs, ends, and asks for them in its next turn by the names that it was told."""
    model.script(use("parallel", tool_calls=list(calls), wait=False), when="please")
    model.script(answer("started"), when="tool_result")


def names(world, chat):
    return [child["job"]["job_id"] for child in root(world, chat)["children"]]


def collect(world, model, chat, job_ids, action="await"):
    model.clear()
    model.script(use("parallel", action=action, job_ids=job_ids), answer("collected"), when="collect")
    assert world.client().say(chat, "collect") == "collected"
    return told(model)


def test_jobs_of_a_parent_that_has_ended_go_on_and_are_known_by_their_names(world, model, gate):
    world.start()
    background(model, tool("a"), tool("b", gate=str(gate)), tool("c", gate=str(gate)))
    chat = begin(world)
    assert ended(world, chat) == "completed"
    wait_children(world, chat, "completed", "running", "running")
    world.client().wait(lambda: {"start b", "start c"} <= set(world.effects()), what="the others to start")
    job_ids = names(world, chat)

    world.restart()
    waiting = held(world, 2)
    gate.touch()
    decide(world, waiting[2], "confirmed_completed", result_text="b is done")
    decide(world, waiting[3], "confirmed_not_completed")

    wait_children(world, chat, "completed", "completed", "completed")
    assert collect(world, model, chat, job_ids) == [
        ("success", "effect a done"),
        ("success", "b is done"),
        ("success", "effect c done"),
    ]


def test_a_subordinate_of_a_parent_that_has_ended_goes_on_by_itself(world, model, gate):
    world.start()
    model.script(use("effect", arg="s"), {**answer("sub done"), "gate": "go"}, when="sub one")
    background(model, below("sub one"))
    chat = begin(world)
    assert ended(world, chat) == "completed"
    world.client().wait(lambda: "end s" in world.effects(), what="the worker's step")
    before = chats(world)
    model.wait_requests(4)

    world.restart()
    view = held(world, 1)[1]
    model.clear()
    model.script(answer("sub done"), when="sub one")
    assert Panel(world.client()).grant(view).status == 200

    wait_children(world, chat, "completed")
    assert chats(world) == before
    assert collect(world, model, chat, names(world, chat)) == [("success", "sub done")]
    assert world.effects() == ["start s", "end s"]


def test_a_cancelled_job_stays_cancelled(world, model, gate):
    world.start()
    background(model, tool("a", gate=str(gate)))
    chat = begin(world)
    assert ended(world, chat) == "completed"
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect")
    job_ids = names(world, chat)

    assert [state for state, _ in collect(world, model, chat, job_ids, action="cancel")] == ["cancelled"]

    first = Panel(world.client()).run(next(run["run_id"] for run in Panel(world.client()).all_runs()[1:]))
    assert [child["state"] for child in first["children"]] == ["stopped"]
    world.restart()
    assert Panel(world.client()).needs_you() == []
    assert world.effects() == ["start a"]


# -- while they run -----------------------------------------------------------------------------


def test_a_suspension_that_is_taken_back_lets_jobs_go_on_once(world, model, gate):
    world.start()
    model.script(use("effect", arg="s"), {**answer("late"), "gate": "never"}, answer("sub done"), when="sub one")
    script(model, tool("a"), below("sub one"))
    chat = begin(world)
    client = world.client()
    model.wait_requests(3)
    wait_children(world, chat, "completed", "running")

    client.call("plugins/durable_execution/suspend", {})
    client.wait(lambda: client.call("plugins/durable_execution/status")["suspension"]["safe"], what="everything to be put aside")
    client.call("plugins/durable_execution/suspend", {"action": "resume"})

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "effect a done"), ("success", "sub done")]
    assert sorted(world.effects()) == ["end a", "end s", "start a", "start s"]


SLOW_DISK = """
import os, time
from pathlib import Path

from helpers import persist_chat

save = persist_chat.save_tmp_chat


def slow(ctx):
    marked = Path(os.environ["SLOW"])
    if marked.exists() and marked.read_text("utf-8") == ctx.id:
        time.sleep(2)
    save(ctx)


persist_chat.save_tmp_chat = slow
"""


def test_one_of_two_tasks_that_wait_for_a_job_goes_on_with_it(world, model, tmp_path):
    """The task that was put aside and the one that the relaunched parent starts; the first is still at the worker's chat."""
    inject, slow = tmp_path / "slow_disk.py", tmp_path / "slow"
    inject.write_text(SLOW_DISK, "utf-8")
    world.start(env={"SLOW": str(slow)}, inject=inject)
    model.script(use("effect", arg="s"), {**answer("late"), "gate": "never"}, {**answer("sub done"), "gate": "go"}, when="sub one")
    script(model, below("sub one"))
    chat = begin(world)
    client = world.client()
    model.wait_requests(3)
    client.call("plugins/durable_execution/suspend", {})
    client.wait(lambda: client.call("plugins/durable_execution/status")["suspension"]["safe"], what="everything to be put aside")

    slow.write_text(root(world, chat)["children"][0]["job"]["chat_id"], "utf-8")
    client.call("plugins/durable_execution/suspend", {"action": "resume"})
    model.wait_requests(4)
    for _ in range(2):  # the other task finds that its turn has come
        client.wait(_later(), what="time")
    model.release("go")

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "sub done")]
    assert world.effects() == ["start s", "end s"]
    assert len(model.requests("chat")) == 5


def test_a_nudge_holds_the_parent_and_a_new_attempt_finds_its_jobs(world, model, gate):
    world.start()
    script(model, tool("a"), tool("b", gate=str(gate)))
    chat = begin(world)
    wait_children(world, chat, "completed", "running")
    world.client().wait(lambda: "start b" in world.effects(), what="b")

    world.client().nudge(chat)
    panel = Panel(world.client())
    view = panel.wait_held(chat)
    gate.touch()
    decide(world, view, "new_attempt", "Its jobs have records.")

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "effect a done"), ("success", "effect b done")]
    assert sorted(world.effects()) == ["end a", "end b", "start a", "start b"]


def test_a_message_to_a_worker_reaches_it_once_and_goes_on_with_it(world, model, gate):
    world.start()
    model.script(answer("heard"), when="look left")
    model.script(use("effect", arg="s", gate=str(gate)), when="sub one")
    script(model, below("sub one"))
    chat = begin(world)
    client = world.client()
    client.wait(lambda: "start s" in world.effects(), what="the worker")
    worker = root(world, chat)["children"][0]["job"]["chat_id"]
    client.send(worker, "look left")

    world.restart()
    decide(world, held(world, 1)[1], "confirmed_completed", result_text="s is done")

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "heard")]
    assert model.requests("chat")[-2].prompt.count("look left") == 1
    assert world.effects() == ["start s"]


def test_deleting_the_chat_ends_its_jobs(world, model, gate):
    world.start()
    background(model, tool("a", gate=str(gate)))
    chat = begin(world)
    assert ended(world, chat) == "completed"
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect")

    world.client().remove(chat)

    wait_children(world, chat, "stopped")
    world.restart()
    assert Panel(world.client()).needs_you() == []


@pytest.mark.parametrize("what", ["chat_remove", "chat_reset"])
def test_a_chat_whose_job_cannot_be_stopped_stays_as_it_is(world, model, gate, what):
    world.start()
    background(model, tool("a", gate=str(gate)))
    chat = begin(world)
    assert ended(world, chat) == "completed"
    client = world.client()
    client.wait(lambda: world.effects() == ["start a"], what="the effect")

    with locked(world):
        refused = client.ask(what, {"context": chat})

    assert refused.status == 500
    assert "a job of it could not be stopped" in refused.text
    assert chat in chats(world)
    assert "started" in client.history(chat)
    client.call(what, {"context": chat})
    wait_children(world, chat, "stopped")


def test_a_cancellation_inside_a_job_that_nobody_asked_for_is_told_to_the_agent(world, model):
    world.start()
    script(model, tool("a", raises="cancelled"), tool("b"))

    chat = begin(world)

    assert ended(world, chat) == "completed"
    assert [state for state, _ in told(model)] == ["success", "success"]
    assert "may have happened" in told(model)[0][1]


def test_a_job_whose_task_is_cancelled_by_something_else_waits_for_a_person(world, model):
    world.start()
    script(model, tool("a", ends_task=True), tool("b"))
    chat = begin(world)

    waiting = held(world, 1)

    assert waiting[1]["run"]["reason"]["code"] == "outcome_unknown"
    decide(world, waiting[1], "confirmed_completed", result_text="a is done")
    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "a is done"), ("success", "effect b done")]
    assert sorted(world.effects()) == ["end a", "end b", "start a", "start b"]


def test_a_job_that_was_suspended_and_goes_on_in_the_same_process_keeps_its_places(world, model, gate):
    (world.plugin_folder / "config.json").write_text('{"suspend_grace_s": 1}', "utf-8")
    world.start()
    script(model, tool("a", gate=str(gate)))
    chat = begin(world)
    world.client().wait(lambda: world.effects() == ["start a"], what="the job to start")
    for action in ("suspend", "resume"):
        world.client().call("plugins/durable_execution/suspend", {"action": action})
        waiting = held(world, 1)

    decide(world, waiting[1], "confirmed_completed", result_text="a is done")

    assert ended(world, chat) == "completed"
    assert told(model) == [("success", "a is done")]
    assert world.effects() == ["start a"]


def test_deleting_the_chat_ends_jobs_of_its_jobs_too(world, model, gate):
    world.start()
    model.script(use("parallel", tool_calls=[tool("deep", gate=str(gate))]), when="sub one")
    background(model, below("sub one"))
    chat = begin(world)
    client = world.client()
    client.wait(lambda: world.effects() == ["start deep"], what="the effect")
    world.restart()
    client.wait(lambda: Panel(client).needs_you(), what="the deepest job on hold")
    worker = root(world, chat)["children"][0]["job"]["chat_id"]
    assert "_durable_execution" in client.context(worker)

    client.remove(chat)

    assert Panel(client).needs_you() == []
    assert "_durable_execution" not in client.context(worker)


def test_stop_of_a_parent_whose_jobs_wait_ends_them_all(world, model, gate):
    world.start()
    script(model, tool("a", gate=str(gate)), tool("b", gate=str(gate)))
    chat = begin(world)
    client = world.client()
    client.wait(lambda: {"start a", "start b"} <= set(world.effects()), what="both to start")
    world.restart()
    held(world, 2)
    wait_replay(world, chat)

    decide(world, root(world, chat), "stop")

    assert children(world, chat) == ["stopped", "stopped"]
    assert "_durable_execution" not in client.context(chat)
    assert client.running(chat) is False
