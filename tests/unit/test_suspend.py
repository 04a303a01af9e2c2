"""A living run that we put aside ourselves: what is left unknown is held, all else goes on by itself."""

from __future__ import annotations

from typing import Any

import pytest

from journal.errors import NotRunning
from journal.modes import HOSTED_TOOLS
from journal.records import HoldReason, Outcome, Permission, Proceed, Run, RunState, Serve
from journal.recovery import Cut
from tests.store.worlds import ALLOWED, NOTHING, World, model, tool

PATIENT = Cut("a test")
AT_ONCE = Cut("a test", patient=False)
NO_HOSTED = {"extra": {HOSTED_TOOLS: False}}


def suspended(world: World, run: Any, cut: Cut = PATIENT, now: Permission = NOTHING) -> Run:
    return world.journal.suspend_run(getattr(run, "run", run).run_id, run.token, lambda call: now, cut).result()


def test_a_run_between_two_steps_waits_for_its_turn(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))

    after = suspended(world, run)

    assert after.state is RunState.QUEUED
    assert any("suspended" in event["text"] for event in world.journal.run_view(run.run_id)["events"])


def test_what_was_suspended_starts_nothing_more(world: World) -> None:
    run = world.admit()
    suspended(world, run)

    with pytest.raises(NotRunning):
        world.begin(run, model(1))


def test_a_model_call_that_we_cut_off_is_asked_again_once(world: World) -> None:
    run = world.admit()
    world.opened(run, model(1), **NO_HOSTED)

    assert suspended(world, run).state is RunState.QUEUED
    world.restart()
    queued = world.recover(run)
    assert queued.state is RunState.QUEUED
    step = world.begin(world.claim(queued), model(1))
    assert isinstance(step, Proceed)
    assert (step.call.attempts, step.call.allowance) == (2, 0)
    world.restart()
    after = world.recover(run)
    assert after.hold is not None
    assert after.hold.reason is HoldReason.MODEL_INTERRUPTED


@pytest.mark.parametrize("extra", [{HOSTED_TOOLS: True}, None], ids=["hosted", "nobody knows"])
def test_a_model_call_that_may_have_run_tools_of_the_provider_is_held(world: World, extra: dict[str, bool] | None) -> None:
    run = world.admit()
    call = world.opened(run, model(1), extra=extra)

    after = suspended(world, run)

    assert after.hold is not None
    assert (after.hold.reason, after.hold.call_id) == (HoldReason.MODEL_INTERRUPTED, call.call_id)


def test_an_answer_that_came_after_all_is_served(world: World) -> None:
    run = world.admit()
    call = world.opened(run, model(1), **NO_HOSTED)
    suspended(world, run)
    world.journal.finish_call(call.call_id, Outcome.OK, {"response": "hi"}).result()
    world.restart()

    step = world.begin(world.claim(world.recover(run)), model(1))

    assert isinstance(step, Serve)
    assert step.call.value == {"response": "hi"}


def test_an_effect_under_way_is_waited_for(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    call = world.opened(run, tool(1))

    assert suspended(world, run).state is RunState.RUNNING
    world.journal.finish_call(call.call_id, Outcome.OK, "done").result()
    assert suspended(world, run).state is RunState.QUEUED


def test_an_effect_that_did_not_end_in_time_is_held(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))

    after = suspended(world, run, AT_ONCE)

    assert after.hold is not None
    assert (after.hold.reason, after.hold.call_id) == (HoldReason.OUTCOME_UNKNOWN, call.call_id)


def test_a_step_that_may_be_repeated_is_not_waited_for(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1), permission=ALLOWED)

    assert suspended(world, run, now=ALLOWED).state is RunState.QUEUED


def test_the_grace_period_is_given_whatever_was_chosen_for_a_restart(world: World) -> None:
    """`report` tells the model of a step that was cut off: that is no reason to cut it off."""
    run = world.journal.admit("chat", "m1", {"text": "t"}, "T", {"interrupted_tool_call": "report"}, world.point()).result().run
    world.opened(run, tool(1))

    assert suspended(world, run).state is RunState.RUNNING
    assert suspended(world, run, AT_ONCE).state is RunState.QUEUED


def test_a_model_call_that_is_cut_off_again_and_again_is_asked_again_each_time(world: World) -> None:
    run = world.admit()
    life: Any = run
    world.opened(life, model(1), **NO_HOSTED)
    for attempts in (2, 3, 4):
        assert suspended(world, life).state is RunState.QUEUED
        life = world.claim(run)
        assert world.begin(life, model(1)).call.attempts == attempts


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.RUNNING])
def test_only_a_running_run_is_suspended(world: World, state: RunState) -> None:
    run = world.run_in(state)

    assert suspended(world, run).state is state
    assert world.journal.run(run.run_id).version == run.version


def test_an_older_life_suspends_nothing(world: World) -> None:
    run = world.admit()
    world.restart()
    claim = world.claim(world.recover(run))

    assert suspended(world, run).state is RunState.RUNNING
    assert world.journal.run(run.run_id).token == claim.token


def test_suspending_is_no_crash(world: World) -> None:
    """However often it is put aside before it makes progress, it is no suspect."""
    run = world.admit()
    for _ in range(5):
        suspended(world, run)
        world.restart()
        run = world.claim(world.recover(run)).run

    assert suspended(world, run).recoveries == 0
