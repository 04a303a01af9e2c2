"""Every state meets every action: it is one of the moves, or refused with nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from journal.errors import JournalError, NotRunning, RunEnded, StaleVersion
from journal.records import Hold, HoldReason, Run, RunState
from journal.runs import MOVES
from tests.store.worlds import World, model

HOLD = Hold(HoldReason.CHAT_MOVED_ON)

ACTIONS: dict[str, Callable[[World, Run], Any]] = {
    "hold": lambda world, run: world.journal.hold_run(run.run_id, HOLD.reason).result(),
    "settle with a hold": lambda world, run: world.journal.settle(run.run_id, HOLD).result(),
    "settle": lambda world, run: world.journal.settle(run.run_id, None).result(),
    "claim": lambda world, run: world.journal.claim(run.run_id).result(),
    "stop": lambda world, run: world.journal.stop_run(run.run_id, "test").result(),
    "begin recovery": lambda world, run: world.journal.begin_recovery(run.run_id).result(),
    "complete": lambda world, run: world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "x", world.point(), []).result(),
    "fail": lambda world, run: world.journal.close_run(run.run_id, run.token, RunState.FAILED, "x", world.point(), []).result(),
    "checkpoint": lambda world, run: world.journal.checkpoint(run.run_id, run.token, world.point(), []).result(),
    "interrupt": lambda world, run: world.journal.interrupt_run(run.run_id, "test").result(),
    "keep a message": lambda world, run: world.journal.keep_input(run.run_id, "other", {"text": "more"}).result(),
    "begin a call": lambda world, run: world.begin(run, model(1)),
}

Q, R, H, C, F, S = (state.value for state in RunState)
EXPECTED: dict[str, dict[str, Any]] = {
    "hold": {Q: H, R: H, H: H, C: RunEnded, F: RunEnded, S: RunEnded},
    "settle with a hold": {Q: H, R: H, H: H, C: RunEnded, F: RunEnded, S: RunEnded},
    "settle": {Q: Q, R: Q, H: H, C: RunEnded, F: RunEnded, S: RunEnded},
    "claim": {Q: R, R: StaleVersion, H: StaleVersion, C: StaleVersion, F: StaleVersion, S: StaleVersion},
    "stop": {Q: S, R: S, H: S, C: RunEnded, F: RunEnded, S: S},
    "begin recovery": {Q: Q, R: R, H: H, C: RunEnded, F: RunEnded, S: RunEnded},
    "complete": {Q: NotRunning, R: C, H: NotRunning, C: C, F: NotRunning, S: NotRunning},
    "fail": {Q: NotRunning, R: F, H: NotRunning, C: NotRunning, F: F, S: NotRunning},
    "checkpoint": {Q: NotRunning, R: R, H: NotRunning, C: NotRunning, F: NotRunning, S: NotRunning},
    "interrupt": {Q: Q, R: R, H: H, C: C, F: F, S: S},
    "keep a message": {Q: Q, R: R, H: H, C: RunEnded, F: RunEnded, S: RunEnded},
    "begin a call": {Q: NotRunning, R: R, H: H, C: NotRunning, F: NotRunning, S: NotRunning},
}


def test_the_matrix_is_whole() -> None:
    assert EXPECTED.keys() == ACTIONS.keys()
    assert all(row.keys() == {state.value for state in RunState} for row in EXPECTED.values())


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("state", RunState, ids=lambda state: state.value)
def test_a_state_and_an_action(world: World, state: RunState, action: str) -> None:
    run = world.run_in(state)
    head = world.journal.head()
    expected = EXPECTED[action][state.value]

    if isinstance(expected, str):
        ACTIONS[action](world, run)
        after = world.journal.run(run.run_id)
        assert after.state.value == expected
        assert after.state is run.state or after.state in MOVES[run.state]
        assert (after.version > run.version) or (after.state is run.state)
        assert (world.journal.head() > head) or (after == run)
    else:
        with pytest.raises(expected) as caught:
            ACTIONS[action](world, run)
        assert isinstance(caught.value, JournalError)
        assert world.journal.run(run.run_id) == run
        assert world.journal.head() == head


@pytest.mark.parametrize("action", ["complete", "checkpoint", "begin a call"])
def test_an_old_token_writes_nothing(world: World, action: str) -> None:
    run = world.admit()
    world.journal.interrupt_run(run.run_id, "a person").result()
    before = world.journal.run(run.run_id)

    with pytest.raises(NotRunning):
        ACTIONS[action](world, run)

    assert world.journal.run(run.run_id) == before


def test_the_version_grows_by_one_with_each_move(world: World) -> None:
    run = world.admit()

    world.journal.begin_recovery(run.run_id).result()
    world.journal.settle(run.run_id, None).result()
    claim = world.claim(run)

    assert (run.version, claim.run.version, claim.token) == (1, 4, 2)


def test_two_that_want_to_continue_a_run_get_it_once(world: World) -> None:
    run = world.run_in(RunState.QUEUED)

    answers = [world.journal.claim(run.run_id) for _ in range(8)]

    assert sum(answer.exception() is None for answer in answers) == 1
    assert all(isinstance(answer.exception(), StaleVersion | type(None)) for answer in answers)


def test_a_held_run_keeps_its_first_reason(world: World) -> None:
    run = world.admit()
    world.journal.hold_run(run.run_id, HoldReason.NOT_SERVABLE, text="first").result()

    again = world.journal.hold_run(run.run_id, HoldReason.ASK, text="second").result()

    assert again.hold is not None
    assert (again.hold.reason, again.hold.text) == (HoldReason.NOT_SERVABLE, "first")


def test_a_worse_finding_at_the_next_start_replaces_a_hold(world: World) -> None:
    run = world.run_in(RunState.HELD)

    after = world.journal.settle(run.run_id, Hold(HoldReason.CHAT_GONE)).result()

    assert after.hold is not None
    assert after.hold.reason is HoldReason.CHAT_GONE
    assert after.version == run.version + 1


def test_closing_twice_is_closing_once(world: World) -> None:
    run = world.admit()

    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, {"a": 1}, world.point(), []).result()
    head = world.journal.head()
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, {"a": 1}, world.point(), []).result()

    assert world.journal.head() == head
    assert world.journal.run(run.run_id).answer == {"a": 1}


def test_runs_of_a_chat_stand_in_the_order_of_their_admission(world: World) -> None:
    first = world.run_in(RunState.COMPLETED)
    second = world.admit(message="m2")

    assert [run.run_id for run in world.journal.runs_of("chat")] == [first.run_id, second.run_id]
    assert world.journal.runs_of("nobody") == []


def test_runs_that_ended_just_before_the_restart_are_known(world: World) -> None:
    older = world.run_in(RunState.COMPLETED, "older")
    world.restart()
    assert [run.run_id for run in world.journal.ended_in_last_boot()] == [older.run_id]
    ended = world.run_in(RunState.COMPLETED, "a")
    world.run_in(RunState.COMPLETED, "b")
    world.admit("b", "next")
    world.run_in(RunState.STOPPED, "c")

    world.restart()
    world.restart()

    assert [run.run_id for run in world.journal.ended_in_last_boot()] == [ended.run_id]
