"""The clock jumps: ten minutes ahead, ten minutes back, while the journal is open and while it is closed."""

from __future__ import annotations

import pytest

from journal.records import Choice, HoldReason, RunState
from tests.store.worlds import World, tool

TEN_MINUTES = 600


@pytest.mark.parametrize("jumps", [(-TEN_MINUTES,), (TEN_MINUTES, -TEN_MINUTES), (-TEN_MINUTES, TEN_MINUTES), (0, 0)])
@pytest.mark.parametrize("restart", [False, True])
def test_runs_stay_in_the_order_in_which_they_were_admitted(world: World, jumps: tuple[int, ...], restart: bool) -> None:
    admitted = [world.run_in(RunState.COMPLETED).run_id]
    for number, seconds in enumerate(jumps):
        world.clock.turn(seconds)
        if restart:
            world.clock.turn(-60)  # a restart takes a minute
            world.restart()
        run = world.admit(message=f"m{number}")
        calls = [world.done(run, tool(1, ordinal)) for ordinal in range(3)]
        assert [call.call_id for call in world.journal.calls(run.run_id)] == sorted(call.call_id for call in calls)
        assert world.journal.runs_of("chat")[-1].run_id == run.run_id
        world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "x", world.point(), []).result()
        admitted.append(run.run_id)

    assert admitted == sorted(set(admitted))
    assert [run.run_id for run in world.journal.runs_of("chat")] == admitted
    assert [item["run_id"] for item in world.journal.listing("all")["items"]] == admitted[::-1]


@pytest.mark.parametrize("seconds", [-TEN_MINUTES, TEN_MINUTES])
def test_a_hold_that_began_before_a_jump_is_shown_decided_and_continued(world: World, seconds: int) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.restart()
    held = world.recover(run)
    assert held.hold is not None
    assert held.hold.reason is HoldReason.OUTCOME_UNKNOWN
    form = world.decision(run, Choice.CONFIRMED_COMPLETED, call)

    world.clock.turn(seconds)

    assert [item["run_id"] for item in world.journal.listing()["items"]] == [run.run_id]
    assert world.journal.decide(form).result().state is RunState.QUEUED
    claim = world.claim(run)
    assert world.begin(claim, tool(1)).call.call_id == call.call_id


@pytest.mark.parametrize("seconds", [-TEN_MINUTES, TEN_MINUTES])
def test_what_ended_before_the_last_restart_is_known_after_a_jump(world: World, seconds: int) -> None:
    ended = world.run_in(RunState.COMPLETED)
    world.clock.turn(seconds)
    world.restart()
    later = world.admit(message="m2")
    world.journal.close_run(later.run_id, later.token, RunState.COMPLETED, "x", world.point(), []).result()
    world.restart()

    assert ended.run_id < later.run_id
    assert [run.run_id for run in world.journal.ended_in_last_boot()] == [later.run_id]
