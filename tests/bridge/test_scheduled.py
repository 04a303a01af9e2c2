"""Scheduled turns: each planned time once, whatever ends in between; a run that waits blocks neither its task nor the next time."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from refhost.client import Client
from refhost.model import answer, use
from tests.support.sampling import thorough
from tests.support.story import Panel

QUICK = {"JOB_LOOP_SECONDS": "0.1"}
WORK = "do the nightly work"


def minutes_ago(minutes):
    return (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()


def plan(client, *times, context_id=""):
    body = {"name": "Nightly", "prompt": WORK, "plan": list(times), "context_id": context_id}
    return client.call("scheduler_task_create", body)["task_id"]


def of_task(client, task):
    """Its entry in the list of tasks; without its chat there is none yet."""
    return next((entry for entry in client.poll()["tasks"] if entry["uuid"] == task), None)


def wait_task(client, task, state="idle", done=0):
    def look():
        entry = of_task(client, task)
        return entry and entry["state"] == state and len(entry["plan"]["done"]) >= done and entry

    return client.wait(look, what=f"the task to be {state}")


def saved(world):
    """The one task as the host's file has it; nothing while the file is being written."""
    text = (world.usr / "scheduler" / "tasks.json").read_text()
    return json.loads(text)[0] if text else None


def wait_saved(world, client, done):
    """The list that is shown is ahead of its file."""
    return client.wait(lambda: (item := saved(world)) and len(item["plan"]["done"]) == done and item, what="the task's file")


def rewrite(world, item, **changes):
    """The server is down."""
    (world.usr / "scheduler" / "tasks.json").write_text(json.dumps([{**item, **changes}]))


def runs(client, **facts):
    found = Panel(client).all_runs()
    return [run for run in found if all(run[name] == value for name, value in facts.items())]


def held_in_the_effect(world, model, gate, *times):
    """A task that was killed while its effect ran; answers the client of the next life, and the task."""
    model.script(answer("all done"), when="result-of-a", repeat=True)
    model.script(use("effect", arg="a", value="result-of-a", gate=str(gate)), when=WORK, repeat=True)
    world.start(env=QUICK)
    client = world.client()
    task = plan(client, *times)
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    world.restart(env=QUICK)
    client = world.client()
    Panel(client).wait_held(task)
    return client, task


def test_a_scheduled_turn_is_recorded_and_its_task_gets_the_answer(world, model):
    model.script(answer("work done"))
    world.start(env=QUICK)
    client = world.client()

    task = plan(client, minutes_ago(5))
    entry = wait_task(client, task, done=1)

    assert entry["last_result"] == "work done"
    assert [run["state"] for run in runs(client, chat_id=task)] == ["completed"]
    assert len(model.requests("chat")) == 1


def test_a_task_that_was_cut_off_waits_idle_and_goes_on_after_the_decision(world, model, gate):
    client, task = held_in_the_effect(world, model, gate, minutes_ago(5))
    panel = Panel(client)
    held = panel.wait_held(task)

    assert held["run"]["reason"]["code"] == "outcome_unknown"
    entry = of_task(client, task)
    assert (entry["state"], len(entry["plan"]["done"])) == ("idle", 1)
    assert entry["_durable_execution"]["state"] == "held"  # the badge stands in the list of tasks

    assert panel.decide(held, "confirmed_completed", "looked", result_text="result-of-a").status == 200
    client.wait(lambda: of_task(client, task)["last_result"] == "all done", what="the result in the list of tasks")
    entry = of_task(client, task)
    assert entry["state"] == "idle"
    assert "_durable_execution" not in entry
    assert world.effects() == ["start a"]
    assert [run["state"] for run in runs(client, chat_id=task)] == ["completed"]
    users = [item["content"] for item in client.logs(task) if item["type"] == "user"]
    assert users == [f"## Task:\n{WORK}"]


def test_a_stopped_occurrence_leaves_an_idle_task_that_can_be_run_again(world, model, gate):
    client, task = held_in_the_effect(world, model, gate, minutes_ago(5))
    panel = Panel(client)

    assert panel.decide(panel.wait_held(task), "stop").status == 200
    assert of_task(client, task)["state"] == "idle"
    model.clear()
    model.script(answer("run by hand"), repeat=True)
    client.call("scheduler_task_run", {"task_id": task})
    client.wait(lambda: of_task(client, task)["last_result"] == "run by hand", what="the task run by hand")

    assert sorted(run["state"] for run in runs(client, chat_id=task)) == ["completed", "stopped"]
    assert world.effects() == ["start a"]


def test_a_later_occurrence_of_a_held_task_runs_in_a_chat_of_its_own(world, model, gate):
    client, task = held_in_the_effect(world, model, gate, minutes_ago(9))
    model.clear()
    model.script(answer("the later one"))
    entry = of_task(client, task)

    client.call("scheduler_task_run", {"task_id": task})
    client.wait(lambda: of_task(client, task)["last_result"] == "the later one", what="the later occurrence")

    assert of_task(client, task)["state"] == "idle"
    assert [run["state"] for run in runs(client, chat_id=task)] == ["held"]
    (own,) = runs(client, state="completed")
    assert own["chat_id"] != task
    assert [item["content"] for item in client.logs(own["chat_id"]) if item["type"] == "user"] == [f"## Task:\n{WORK}"]
    assert entry["_durable_execution"]["run_id"] == of_task(client, task)["_durable_execution"]["run_id"]


def test_both_overdue_times_of_a_plan_run_once_each_also_when_the_first_is_held(world, model, gate):
    client, task = held_in_the_effect(world, model, gate, minutes_ago(9), minutes_ago(5))

    entry = wait_task(client, task, "running")  # the second time runs although the first waits
    gate.touch()
    entry = wait_task(client, task, done=2)

    assert entry["plan"]["todo"] == []
    assert sorted(run["state"] for run in runs(client)) == ["completed", "held"]
    assert world.effects() == ["start a", "start a", "end a"]


def test_a_time_that_was_taken_in_is_not_started_again_if_the_list_forgot_it(world, model):
    model.script(answer("work done"))
    world.start(env=QUICK)
    client, at = world.client(), minutes_ago(5)
    task = plan(client, at)
    wait_task(client, task, done=1)
    item = wait_saved(world, client, done=1)
    world.kill()
    rewrite(world, item, plan={"todo": item["plan"]["done"], "done": []})  # as if the process had ended before the host wrote it

    world.start(env=QUICK)
    client = world.client()
    entry = wait_task(client, task, done=1)

    assert entry["last_result"] == "work done"
    assert len(model.requests("chat")) == 1
    client.wait_log(task, "info", "already taken in")
    assert [run["state"] for run in runs(client)] == ["completed"]


def test_nor_is_it_while_its_own_turn_still_waits(world, model, gate):
    client, task = held_in_the_effect(world, model, gate, minutes_ago(5))
    item = wait_saved(world, client, done=1)
    world.kill()
    rewrite(world, item, plan={"todo": item["plan"]["done"], "done": []})

    world.start(env=QUICK)
    client = world.client()
    wait_task(client, task, done=1)

    client.wait_log(task, "info", "already taken in")
    shown = client.logs(task)
    assert sum(entry["type"] == "user" for entry in shown) == 1
    assert [entry["content"] for entry in shown if entry["type"] == "error"] == []
    assert world.effects() == ["start a"]
    assert [run["state"] for run in runs(client)] == ["held"]


@pytest.mark.parametrize("recorded", [True, *thorough(False)])
def test_a_task_that_was_about_to_start_is_started_after_the_crash_if_it_is_sure_that_nothing_of_it_ran(world, model, recorded):
    model.script(answer("work done"), repeat=True)
    client = world.start().client()
    plan(client, minutes_ago(-60))  # not due in this life, whenever its clock looks first
    item = wait_saved(world, client, done=0)
    world.kill()
    when = datetime.now(UTC) if recorded else datetime.now(UTC) - timedelta(hours=1)  # before the journal was in force
    rewrite(world, item, state="running", updated_at=when.isoformat(), plan={"todo": [minutes_ago(5)], "done": []})

    world.start(env=QUICK)
    client = world.client()

    def settled():
        item = saved(world)
        return item and item["state"] == "idle" and item["plan"]["done"] and item

    assert client.wait(settled, what="the task to be idle")["last_result"] == ("work done" if recorded else None)
    assert len(model.requests("chat")) == recorded
    told = [note["message"] for note in client.poll()["notifications"]]
    assert any(("about to start" if recorded else "unrecorded") in text and "Nightly" in text for text in told)


def test_a_message_to_a_running_scheduled_turn_is_part_of_it(world, model, gate):
    model.script(use("effect", arg="a", value="result-of-a", gate=str(gate)), answer("both seen"))
    world.start(env=QUICK)
    client = world.client()
    task = plan(client, minutes_ago(5))
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    client.send(task, "look at this too")
    gate.touch()
    wait_task(client, task, done=1)

    text = str(model.requests("chat")[-1].messages)
    assert text.count("look at this too") == 1
    assert text.count(WORK) == 1
    assert len(model.requests("chat")) == 2
    assert [run["state"] for run in runs(client)] == ["completed"]


def test_an_occurrence_for_a_chat_with_a_running_turn_gets_a_chat_of_its_own(world, model, gate):
    model.script(answer("the person's"), when="result-of-a", repeat=True)
    model.script(answer("the task's"), when=WORK)
    model.script(use("effect", arg="a", value="result-of-a", gate=str(gate)), when="hello")
    world.start(env=QUICK)
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "hello")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    body = {"name": "Nightly", "prompt": WORK, "plan": [minutes_ago(1)], "context_id": chat}
    client.call("scheduler_task_create", body)
    client.wait(lambda: runs(client, state="completed"), what="the task's run")
    gate.touch()
    client.wait_idle(chat)

    assert WORK not in client.history(chat)
    assert sorted(run["state"] for run in runs(client)) == ["completed", "completed"]


def test_a_turn_that_the_host_cancelled_in_the_middle_waits_and_its_task_is_idle(world, model):
    world.add_plugin("odd", {"tools/odd.py": ODD})
    model.script(use("odd"), when=WORK, repeat=True)
    world.start(env=QUICK)
    client = world.client()
    tasks = [plan(client, minutes_ago(5)) for _ in range(2)]
    client.wait(lambda: world.effects() == ["start a", "start a"], what="both effects to start")

    client.reset(tasks[0])  # the host ends every turn of its scheduler with this one

    held = Panel(client).wait_held(tasks[1])
    assert held["run"]["reason"]["code"] == "outcome_unknown"
    wait_task(client, tasks[1], done=1)
    assert [run["state"] for run in runs(client, chat_id=tasks[0])] == ["stopped"]


ODD = """
import asyncio, os
from helpers import tool

class Odd(tool.Tool):
    async def execute(self, **kwargs):
        handle = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"start a {os.getpid()}\\n".encode())
        os.close(handle)
        await asyncio.sleep(3600)
"""


STARTS_SLOWLY = """
import os, time
from pathlib import Path
from helpers.extension import Extension

class StartsSlowly(Extension):
    def execute(self, **kwargs):
        \"\"\"The host is not up before the file is there.\"\"\"
        while not Path(os.environ["HOST_UP"]).exists():
            time.sleep(0.02)
"""


TICKS = """
import os
from pathlib import Path
from helpers.extension import Extension

class Ticks(Extension):
    async def execute(self, **kwargs):
        with Path(os.environ["HOST_UP"] + ".ticks").open("a") as file:
            file.write(".")
"""


@pytest.mark.parametrize("killed", [False, True])
def test_times_that_are_due_at_the_start_are_recorded_and_worked_on_once_when_the_host_is_up(world, model, gate, killed):
    model.script(answer("work done"), repeat=True)
    at_the_end, each_tick = "extensions/python/_functions/__main__/init_a0/end/_10_slow.py", "extensions/python/job_loop/_50_ticks.py"
    world.add_plugin("slow", {at_the_end: STARTS_SLOWLY, each_tick: TICKS})
    up = {"HOST_UP": str(gate)}
    gate.touch()
    world.start(env={"JOB_LOOP_SECONDS": "3600", **up})
    tasks = [plan(world.client(), minutes_ago(5)) for _ in range(2)]
    world.kill()
    gate.unlink()

    world.start(env={**QUICK, **up}, wait=False)
    look = Client(world.url)
    look.wait(lambda: peek(world) == ["running", "running"], what="both to be recorded")
    seen = ticks(gate)
    look.wait(lambda: ticks(gate) > seen + 10, what="some time to pass")
    assert model.requests("chat") == []
    if killed:
        world.kill()
    gate.touch()
    if killed:
        world.start(env={**QUICK, **up})
    world.wait_ready()

    for task in tasks:
        world.client().wait(lambda task=task: of_task(world.client(), task)["last_result"] == "work done", what="the answer")
    assert [run["state"] for run in runs(world.client())] == ["completed", "completed"]
    assert len(model.requests("chat")) == 2


def ticks(gate):
    return gate.with_name(f"{gate.name}.ticks").stat().st_size


def peek(world):
    """The states of all runs, beside a server that does not answer yet."""
    with contextlib.closing(sqlite3.connect(f"file:{world.data_folder / 'journal.db'}?mode=ro", uri=True)) as journal:
        return [state for (state,) in journal.execute("select state from runs")]
