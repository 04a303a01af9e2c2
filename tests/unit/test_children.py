"""Child runs: what a call started beside its run has a life of its own, and one home (I4, I5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from journal.errors import InputConflict, NotRunning, ShownChanged, UnknownCall
from journal.records import Admitted, Call, ChildOrder, Choice, Held, HoldReason, Outcome, Permission, Proceed, Run, RunState
from journal.retention import Policy
from tests.store.worlds import ALLOWED, World, model, tool

DAY = 86_400


def order(index: int, *, job: str = "", chat: str = "", **content: Any) -> ChildOrder:
    return ChildOrder(index, job or f"job-{index}", {"name": "shell", "arguments": {"n": index}, **content}, chat)


def admitted(world: World, run: Any, call: Call, *orders: ChildOrder) -> list[Admitted]:
    run_id = run.run_id if isinstance(run, Run) else run.run.run_id
    return world.journal.admit_children(run_id, run.token, call.call_id, orders).result()


@pytest.fixture
def parent(world: World) -> tuple[Run, Call]:
    run = world.admit()
    return run, world.opened(run, tool(1), name="parallel", permission=ALLOWED)


@pytest.fixture
def jobs(world: World, parent: tuple[Run, Call]) -> list[Run]:
    return [each.run for each in admitted(world, *parent, order(0), order(1), order(2, chat="worker"))]


def test_a_child_carries_its_parent_call_and_its_job(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    run, call = parent

    assert [child.parent_call_id for child in jobs] == [call.call_id] * 3
    assert [child.input["job_id"] for child in jobs] == ["job-0", "job-1", "job-2"]
    assert [child.chat_id for child in jobs] == [run.chat_id, run.chat_id, "worker"]
    assert [child.mode for child in jobs] == [run.mode] * 3
    assert {child.state for child in jobs} == {RunState.RUNNING}
    assert world.journal.children(call.call_id) == jobs
    assert world.journal.parent(jobs[1]) == (world.journal.run(run.run_id), call)


def test_the_same_call_finds_what_it_started_under_the_name_it_had(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    run, call = parent

    again = admitted(world, run, call, order(0, job="another"), order(1, job="name"), order(2, chat="elsewhere"), order(3))

    assert [(each.run.run_id, each.repeat) for each in again[:3]] == [(child.run_id, True) for child in jobs]
    assert again[0].run.input["job_id"] == "job-0"
    assert again[2].run.chat_id == "worker"
    assert not again[3].repeat
    assert len(world.journal.children(call.call_id)) == 4


def test_another_job_at_the_same_place_is_refused_and_none_is_taken_in(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    with pytest.raises(InputConflict):
        admitted(world, *parent, order(3), order(1, name="other"))

    assert world.journal.children(parent[1].call_id) == jobs


def test_a_call_that_has_ended_starts_nothing(world: World, parent: tuple[Run, Call]) -> None:
    run, call = parent
    world.journal.finish_call(call.call_id, Outcome.OK, "started").result()

    with pytest.raises(NotRunning):
        admitted(world, run, call, order(0))


def test_an_older_life_of_the_parent_starts_nothing(world: World, parent: tuple[Run, Call]) -> None:
    run, call = parent
    world.journal.interrupt_run(run.run_id, "nudge").result()

    with pytest.raises(NotRunning):
        admitted(world, run, call, order(0))


def test_children_stand_beside_the_run_of_their_chat(world: World, jobs: list[Run]) -> None:
    assert {run.run_id for run in world.journal.unfinished()} >= {child.run_id for child in jobs}

    fresh = world.admit("worker", "a message of its own")  # the engine: a child does not close a chat, its owner does

    assert fresh.parent_call_id is None


def test_stop_of_the_root_stops_what_has_not_ended_below_it(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    first, second, third = jobs
    world.journal.close_run(first.run_id, first.token, RunState.COMPLETED, "done").result()
    open_call = world.opened(second, tool(0))
    below = world.opened(third, tool(1), name="parallel", permission=ALLOWED)
    (deepest,) = admitted(world, third, below, order(0))

    world.journal.stop_run(parent[0].run_id, "panel").result()

    states = [world.journal.run(child.run_id).state for child in (*jobs, deepest.run)]
    assert states == [RunState.COMPLETED, RunState.STOPPED, RunState.STOPPED, RunState.STOPPED]
    with pytest.raises(NotRunning):
        world.begin(second, tool(0, 1))
    late = world.journal.finish_call(open_call.call_id, Outcome.OK, "after all").result()
    assert (late.outcome, late.late_results) == (None, 1)


def test_stop_of_a_child_leaves_its_parent_and_what_waits_for_it(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    run = parent[0]
    world.journal.keep_input(run.run_id, "m2", {"text": "and more"}).result()

    world.journal.stop_run(jobs[0].run_id, "panel").result()

    assert world.journal.run(run.run_id).state is RunState.RUNNING
    assert [world.journal.run(child.run_id).state for child in jobs] == [RunState.STOPPED, RunState.RUNNING, RunState.RUNNING]
    assert [item.input_id for item in world.journal.waiting("chat")] == ["m2"]


def test_after_a_crash_each_child_is_asked_about_on_its_own(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    first, second, third = jobs
    world.done(first, tool(0), "1 done")
    world.journal.close_run(first.run_id, first.token, RunState.COMPLETED, "1 done").result()
    world.opened(second, tool(0))
    world.opened(third, model(1))
    world.restart()

    top = world.recover(parent[0], ALLOWED)
    states = [world.recover(child).hold for child in (second, third)]

    assert top.state is RunState.QUEUED  # it waits for its children, not for a person
    assert [hold and hold.reason for hold in states] == [HoldReason.OUTCOME_UNKNOWN, HoldReason.MODEL_INTERRUPTED]


def test_a_decision_for_one_child_never_lands_on_another(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    calls = [world.opened(child, tool(0), arguments={"same": True}) for child in jobs[:2]]
    world.restart()
    held = [world.recover(child) for child in jobs[:2]]
    meant = world.decision(held[1], Choice.CONFIRMED_COMPLETED, calls[1])
    before = world.journal.run(held[0].run_id), world.journal.calls(held[0].run_id)

    for refusal, stray in (
        (UnknownCall, {"run_id": held[0].run_id}),
        (UnknownCall, {"call_id": calls[0].call_id}),
        (ShownChanged, {"run_id": held[0].run_id, "call_id": calls[0].call_id}),
    ):
        with pytest.raises(refusal):
            world.journal.decide(replace(meant, request_id=f"stray-{sorted(stray)}", **stray)).result()
    world.journal.decide(meant).result()

    assert (world.journal.run(held[0].run_id), world.journal.calls(held[0].run_id)) == before
    assert world.journal.run(held[1].run_id).state is RunState.QUEUED


def test_a_new_attempt_of_the_parent_finds_its_committed_children(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1), name="parallel")  # not on the list: a changed source
    first, second = (each.run for each in admitted(world, run, call, order(0), order(1)))
    world.journal.close_run(first.run_id, first.token, RunState.COMPLETED, "1 done").result()
    world.restart()
    held = world.recover(run)
    world.recover(second)

    claim = world.claim(world.decide(held, Choice.NEW_ATTEMPT, call))
    step = world.begin(claim, tool(1), name="parallel")
    again = admitted(world, claim, step.call, order(0), order(1))

    assert isinstance(step, Proceed)
    assert [each.run.run_id for each in again] == [first.run_id, second.run_id]
    assert again[0].run.answer == "1 done"


def test_children_of_a_step_that_a_person_set_aside_do_not_go_on(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1), name="parallel", permission=ALLOWED)
    (child,) = admitted(world, run, call, order(0))
    world.restart()
    claim = world.claim(world.recover(run, ALLOWED))
    diverged = world.begin(claim, tool(1), name="other")
    assert isinstance(diverged, Held)

    world.decide(diverged.run, Choice.NEW_ATTEMPT, call)

    assert world.journal.run(child.run.run_id).state is RunState.STOPPED


def test_a_child_that_waits_is_listed_with_the_chat_and_title_of_its_root(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    run, call = parent
    world.opened(jobs[2], tool(0))
    world.journal.hold_run(jobs[2].run_id, HoldReason.OUTCOME_UNKNOWN).result()

    world.journal.close_run(jobs[0].run_id, jobs[0].token, RunState.COMPLETED, "done").result()
    (item,) = world.journal.listing()["items"]
    view, child = world.journal.run_view(run.run_id), world.journal.run_view(jobs[2].run_id)

    assert (item["run_id"], item["chat_id"], item["title"]) == (jobs[2].run_id, "chat", "A title")
    assert item["parent"] == {"run_id": run.run_id, "call_id": call.call_id, "state": "running"}
    assert item["job"] == {"n": 3, "job_id": "job-2", "name": "shell", "chat_id": "worker"}
    assert child["run"]["parent"] == item["parent"]
    assert [(each["job"]["n"], each["job"]["name"], each["state"]) for each in view["children"]] == [
        (1, "shell", "completed"),
        (2, "shell", "running"),
        (3, "shell", "held"),
    ]
    assert view["calls"][0]["status"] == "running"
    counts = world.journal.counts()
    assert (counts["needs_you"], counts["all"], counts["unfinished"]) == (1, 1, 3)
    assert [each["run_id"] for each in world.journal.listing("all")["items"]] == [run.run_id]


def test_a_job_is_found_by_its_name_also_when_its_parent_has_ended(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    run, call = parent
    world.journal.finish_call(call.call_id, Outcome.OK, "started").result()
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye").result()
    world.restart()

    found = world.journal.child_by_job("chat", "job-1")

    assert found is not None
    assert found.run_id == jobs[1].run_id
    assert found.state is RunState.RUNNING
    assert world.journal.child_by_job("worker", "job-1") is None
    assert world.journal.child_by_job("chat", "job-9") is None


def test_a_family_goes_together_and_not_while_a_child_is_unfinished_or_has_messages(
    world: World, parent: tuple[Run, Call], jobs: list[Run]
) -> None:
    run, call = parent
    world.journal.finish_call(call.call_id, Outcome.OK, "started").result()
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye").result()
    world.admit("chat", "newer")
    for child in jobs[:2]:
        world.journal.close_run(child.run_id, child.token, RunState.COMPLETED, "done").result()
    world.clock.turn(40 * DAY)
    everything = Policy(runs=0, days=30)

    assert world.journal.prune(everything).runs == 0
    world.journal.keep_input(jobs[2].run_id, "to the worker", {"text": "hi"}).result()
    world.journal.stop_run(jobs[2].run_id, "panel").result()
    world.clock.turn(40 * DAY)
    assert world.journal.prune(everything).runs == 0

    assert all(not part.faults for part in world.journal.verify())
    assert {child.run_id for child in world.journal.children(call.call_id)} == {child.run_id for child in jobs}


def test_a_restored_journal_holds_children_too(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    world.close()
    older = (world.folder / "journal.db").read_bytes()
    world.journal = world._open()
    world.admit("another chat")
    world.pause()
    world.close()
    (world.folder / "journal.db").write_bytes(older)
    world.journal = world._open()

    assert {run.hold and run.hold.reason for run in world.journal.unfinished()} == {HoldReason.RESTORED}
    assert {world.journal.run(child.run_id).state for child in jobs} == {RunState.HELD}


def test_a_lost_permission_is_no_permission_for_a_child(world: World, parent: tuple[Run, Call], jobs: list[Run]) -> None:
    world.restart()

    assert world.recover(parent[0], Permission("response", "0" * 64)).state is RunState.HELD
