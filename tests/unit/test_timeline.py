"""How a run went: each call is marked, what reuse saved is counted, and ends of processes stand where they were."""

from __future__ import annotations

from typing import Any

from journal.evidence import done
from journal.records import Choice, HoldReason, Outcome, Permission, Proceed, Run, Serve
from journal.replay import Policy, Repeat
from tests.store.worlds import ALLOWED, World, model, tool

from .test_decisions import held


def marked(world: World, run: Run) -> list[list[str]]:
    return [call["marks"] for call in world.journal.run_view(run.run_id)["calls"]]


def test_what_ran_what_was_used_again_and_what_ran_again_are_told_apart(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    world.opened(run, tool(1), permission=ALLOWED)
    assert marked(world, run) == [["executed"], ["running"]]
    world.restart()
    claim = world.claim(world.recover(run, ALLOWED))
    assert isinstance(world.begin(claim, model(1)), Serve)
    step = world.begin(claim, tool(1), permission=ALLOWED)
    assert isinstance(step, Proceed)
    world.journal.finish_call(step.call.call_id, Outcome.OK, "again").result()

    assert marked(world, run) == [["executed", "reused"], ["replayed"]]


def test_what_waits_for_a_person_is_held_and_what_they_said_is_theirs(world: World) -> None:
    run = world.admit()
    first, second = (world.opened(run, tool(1, ordinal)) for ordinal in range(2))
    world.restart()
    run = world.recover(run)
    assert marked(world, run) == [["held"], ["held"]]

    world.decide(run, Choice.CONFIRMED_COMPLETED, first)
    assert marked(world, run) == [["confirmed"], ["held"]]

    world.decide(world.journal.run(run.run_id), Choice.STOP)
    assert marked(world, run) == [["confirmed"], ["unknown"]]
    assert second.call_id


def test_a_late_result_is_marked_beside_what_counts(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.journal.stop_run(run.run_id, "test").result()
    world.journal.finish_call(call.call_id, Outcome.OK, "too late").result()

    assert marked(world, run) == [["unknown", "late"]]


def test_what_a_check_proved_is_reconciled(world: World) -> None:
    looked = Permission("looked", "1" * 64)
    run = world.admit()
    world.opened(run, tool(1), permission=looked)
    world.restart()
    world.journal.allowlist = {"looked": Policy("A check can tell.", Repeat.CHECKED)}
    claim = world.claim(world.recover(run, looked))

    assert isinstance(world.begin(claim, tool(1), permission=looked, finding=done("there", "seen")), Serve)

    assert marked(world, run) == [["reconciled", "reused"]]


def test_set_aside_records_say_so(world: World) -> None:
    run, call = held(world, HoldReason.DIVERGED)

    world.decide(run, Choice.NEW_ATTEMPT, call)

    assert marked(world, run) == [["executed"], ["set_aside"]]


def test_what_reuse_saved_is_time_and_tokens(world: World) -> None:
    run = world.admit()
    call = world.opened(run, model(1))
    world.clock.turn(4)
    world.journal.finish_call(call.call_id, Outcome.OK, "x", usage={"input_tokens": 900, "output_tokens": 100}).result()
    assert view(world, run)["calls"][0]["saved"] == {"times": 0, "ms": 0, "tokens": 0}
    for _ in range(2):
        world.restart()
        world.begin(world.claim(world.recover(run)), model(1))

    assert view(world, run)["calls"][0]["saved"] == {"times": 2, "ms": 8000, "tokens": 2000}
    assert view(world, run)["usage"]["saved"] == view(world, run)["calls"][0]["saved"]
    assert view(world, run)["calls"][0]["took_ms"] == 4000


def test_where_the_process_ended_and_where_the_run_went_on_stands_in_the_timeline(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    call = world.opened(run, tool(1))
    seen = world.clock.ms
    world.restart()
    run = world.recover(run)
    (first,) = view(world, run)["breaks"]
    assert (first["after"], first["ends"], first["resumed_at"]) == (2, 1, None)
    assert first["seen_at"] == seen
    world.restart()  # nothing happened in between: it is one break
    run = world.recover(world.journal.run(run.run_id))
    (merged,) = view(world, run)["breaks"]
    assert (merged["after"], merged["ends"], merged["seen_at"]) == (2, 2, seen)

    claim = world.claim(world.decide(run, Choice.CONFIRMED_COMPLETED, call))
    world.begin(claim, model(1))
    world.begin(claim, tool(1))
    world.opened(claim, model(2))
    assert view(world, run)["breaks"][0]["resumed_at"] == world.clock.ms
    world.restart()
    world.recover(world.journal.run(run.run_id))

    assert [each["after"] for each in view(world, run)["breaks"]] == [2, 3]


def view(world: World, run: Run) -> dict[str, Any]:
    return world.journal.run_view(run.run_id)
