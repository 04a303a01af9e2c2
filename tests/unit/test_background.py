"""Background calls at the engine: once for a purpose, once for a question over a crash, never in the way of the run."""

from __future__ import annotations

from typing import Any

import pytest

from journal.background import Purpose
from journal.records import Dropped, HoldReason, Outcome, Proceed, Run, RunState, Serve
from tests.store.worlds import World, model, tool

NAMING = Purpose("naming", once=True, path="A0")
MEMORIZE = Purpose("memorize", once=True, path="A0", step=2, served=False)
RECALL = Purpose("recall")


def ask(world: World, run: Run, purpose: Purpose, question: str = "what?", ordinal: int = 0) -> Any:
    return world.journal.begin_background(run.run_id, purpose, question, name="utility", facts={}, ordinal=ordinal).result()


def answered(world: World, run: Run, purpose: Purpose, question: str = "what?", **usage: Any) -> None:
    step = ask(world, run, purpose, question)
    assert isinstance(step, Proceed)
    world.journal.finish_background(step.call.call_id, Outcome.OK, {"response": "that"}, usage=usage or None).result()


def background(world: World, run: Run) -> list[tuple[str, str]]:
    return [(call["purpose"], call["status"]) for call in world.journal.run_view(run.run_id)["background"]]


def goes_on(world: World, run: Run) -> None:
    world.restart()
    world.claim(world.recover(run))


def test_a_purpose_of_its_own_is_asked_once_a_run_and_then_answered_from_the_record(world: World) -> None:
    run = world.admit()
    answered(world, run, NAMING)
    goes_on(world, run)

    step = ask(world, run, NAMING, "in other words?")

    assert isinstance(step, Serve)
    assert step.call.value == {"response": "that"}


def test_what_acts_on_its_answer_is_not_given_it_twice(world: World) -> None:
    run = world.admit()
    answered(world, run, MEMORIZE)
    goes_on(world, run)

    assert ask(world, run, MEMORIZE) == Dropped()


def test_the_same_question_is_answered_from_the_record_and_another_one_is_asked(world: World) -> None:
    run = world.admit()
    answered(world, run, RECALL)
    goes_on(world, run)

    assert isinstance(ask(world, run, RECALL), Serve)
    assert isinstance(ask(world, run, RECALL, "and what else?"), Proceed)


def test_the_same_question_twice_in_one_life_is_asked_twice(world: World) -> None:
    run = world.admit()
    answered(world, run, RECALL)

    assert isinstance(ask(world, run, RECALL, ordinal=1), Proceed)


def test_what_was_cut_off_is_dropped_and_asked_anew_only_where_the_turn_needs_it(world: World) -> None:
    run = world.admit()
    ask(world, run, NAMING)
    ask(world, run, RECALL)
    goes_on(world, run)
    assert background(world, run) == [("naming", "interrupted"), ("recall", "interrupted")]

    assert ask(world, run, NAMING) == Dropped()
    assert isinstance(ask(world, run, RECALL), Proceed)


def test_an_open_background_call_neither_holds_the_run_nor_is_asked_about(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    ask(world, run, RECALL)
    world.restart()

    after = world.recover(run)

    assert after.state is RunState.QUEUED
    assert [call.key.kind.value for call in world.journal.calls(run.run_id)] == ["model"]


def test_background_calls_are_no_steps_and_no_progress(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.restart()
    held = world.recover(run)
    ask(world, run, RECALL)

    view = world.journal.run_view(run.run_id)
    assert [each["call_id"] for each in view["calls"]] == [call.call_id]
    assert held.hold is not None
    assert held.hold.reason is HoldReason.OUTCOME_UNKNOWN
    assert world.journal.run(run.run_id).version == held.version
    assert world.journal.listing()["items"][0]["step"]["of"] == 1


def test_an_answer_that_comes_after_the_end_of_its_run_counts_and_after_a_stop_nothing_begins(world: World) -> None:
    run = world.admit()
    step = ask(world, run, RECALL)
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point()).result()
    world.journal.finish_background(step.call.call_id, Outcome.OK, {"response": "that"}).result()
    assert background(world, run) == [("recall", "saved")]
    assert isinstance(ask(world, run, RECALL, "later?"), Proceed)
    other = world.admit("other", "m2")
    world.journal.stop_run(other.run_id, "test").result()

    assert ask(world, other, RECALL) == Dropped()


# -- what a run took ------------------------------------------------------------------------------


def test_usage_counts_each_call_once_and_says_what_reuse_saved(world: World) -> None:
    run = world.admit()
    call = world.opened(run, model(1))
    world.clock.turn(3)
    used = {"input_tokens": 100, "output_tokens": 10, "estimated": False, "cost": 0.5}
    world.journal.finish_call(call.call_id, Outcome.OK, {"response": "x"}, usage=used).result()
    answered(world, run, RECALL, input_tokens=20, output_tokens=2, estimated=True)
    world.restart()
    claim = world.claim(world.recover(run))
    assert isinstance(world.begin(claim, model(1)), Serve)

    usage = world.journal.run_view(run.run_id)["usage"]

    assert usage == {
        "calls": 1,
        "background_calls": 1,
        "input_tokens": 120,
        "output_tokens": 12,
        "cost": 0.5,
        "estimated": True,
        "not_known": 0,
        "saved": {"times": 1, "ms": 3000, "tokens": 110},
    }


@pytest.mark.parametrize("usage", [{"input_tokens": "many"}, {"input_tokens": -1}, {"output_tokens": 2**60}, {"cost": float("nan")}])
def test_figures_that_are_none_count_as_nothing(world: World, usage: dict[str, Any]) -> None:
    run = world.admit()
    call = world.opened(run, model(1))
    world.journal.finish_call(call.call_id, Outcome.OK, "x", usage=usage).result()

    found = world.journal.run_view(run.run_id)["usage"]

    assert (found["input_tokens"], found["output_tokens"], found["cost"]) == (0, 0, None)


def test_an_attempt_that_was_cut_off_is_counted_as_not_known(world: World) -> None:
    run = world.admit()
    world.opened(run, model(1))

    assert world.journal.run_view(run.run_id)["usage"]["not_known"] == 1
