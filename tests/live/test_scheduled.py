"""Tasks of the host's scheduler: planned, by hand and by the clock, cut off and continued."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery

WORK = "Do the nightly work"


def make_task(client: Client, **kind: Any) -> str:
    body = {"name": "Nightly", "system_prompt": "", "prompt": WORK, "timezone": "UTC"} | kind
    return str(client.post("scheduler_task_create", body).ok()["task"]["uuid"])


def planned(client: Client, *minutes_ago: int) -> str:
    now = datetime.now(UTC)
    todo = [(now - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S") for minutes in minutes_ago]
    return make_task(client, plan={"todo": todo, "in_progress": None, "done": []})


def entry(client: Client, task: str) -> dict[str, Any]:
    return next(dict(each) for each in client.poll()["tasks"] if each["uuid"] == task)


def wait_task(client: Client, task: str, result: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found = entry(client, task)
        return found if found["state"] == "idle" and found["last_result"] == result else None

    return dict(client.wait(f"the task's result {result!r}", look))


def cut_off(host: LiveHost, effect: Effect) -> None:
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()


def test_a_planned_task_that_was_cut_off_is_idle_held_and_goes_on_once(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    task = planned(client, 5)
    model.script(effect.gated())
    host.restart()  # the first tick of a start finds it due
    cut_off(host, effect)

    held = recovery.held(task)
    waiting = entry(client, task)
    assert held["run"]["reason"]["code"] == "outcome_unknown"
    assert waiting["state"] == "idle"
    assert (waiting["plan"]["todo"], len(waiting["plan"]["done"])) == ([], 1)
    assert waiting["_durable_execution"]["state"] == "held"

    model.script(say("Nightly work done."))
    recovery.decide(held, "confirmed_completed", note=NOTE).ok()
    done = wait_task(client, task, "Nightly work done.")

    assert "_durable_execution" not in done
    assert effect.lines == ["start", "end"]
    assert model.main[-1].count(WORK) == 1
    assert client.bubbles(task, "user") == [f"## Task:\n{WORK}"]
    assert [run["state"] for run in recovery.runs(task)] == ["completed"]

    model.script(say("By hand."))
    client.post("scheduler_task_run", {"task_id": task, "timezone": "UTC"}).ok()
    wait_task(client, task, "By hand.")
    assert [run["state"] for run in recovery.runs(task)] == ["completed", "completed"]


def test_a_task_run_by_hand_that_was_stopped_does_not_block_the_next_run(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    task = make_task(client, token="1")
    model.script(effect.gated())
    client.post("scheduler_task_run", {"task_id": task, "timezone": "UTC"}).ok()
    cut_off(host, effect)
    held = recovery.held(task)

    model.script(say("The next one."))
    client.post("scheduler_task_run", {"task_id": task, "timezone": "UTC"}).ok()  # beside the one that waits
    wait_task(client, task, "The next one.")
    recovery.decide(held, "stop").ok()

    assert entry(client, task)["state"] == "idle"
    assert [run["state"] for run in recovery.runs(task)] == ["stopped"]
    assert effect.lines == ["start", "end"]
    assert model.main[-1].count("Write") == 0


def test_a_task_of_the_clock_runs_once_in_its_minute_however_often_somebody_looks(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    while datetime.now(UTC).second > 5:
        time.sleep(0.5)  # the clock is what this is about
    due = datetime.now(UTC)
    schedule = {"minute": str(due.minute), "hour": str(due.hour), "day": "*", "month": "*", "weekday": "*", "timezone": "UTC"}
    task = make_task(client, schedule=schedule)
    model.script(say("Once."))
    client.post("scheduler_tick", {}, csrf=False).ok()
    wait_task(client, task, "Once.")

    client.post("scheduler_tick", {}, csrf=False).ok()
    assert datetime.now(UTC) - due < timedelta(seconds=50), "this machine is too slow to look twice in a minute"
    client.wait("the second look's answer", lambda: "already taken in" in str(client.bubbles(task, "info")))
    host.restart()  # the first tick of a start looks back one minute, too

    assert [run["state"] for run in recovery.runs(task)] == ["completed"]
    assert entry(client, task)["state"] == "idle"
    model.script(say("By hand."))
    client.post("scheduler_task_run", {"task_id": task, "timezone": "UTC"}).ok()  # a person may, in the same minute too
    wait_task(client, task, "By hand.")
    assert len(model.main) == 2
