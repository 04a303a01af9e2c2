"""Who is suspect when a process ends during recovery: the run in hand, and nobody who only waited (I10)."""

from __future__ import annotations

import pytest

from journal.attempts import Completion, may_load
from journal.clock import Clock
from journal.ids import Ids
from journal.records import Choice, Claim, HoldReason, Outcome, Permission, Run, RunState
from journal.service import Journal
from tests.store.worlds import ALLOWED, ALLOWLIST, World, model, tool

WAIT = Permission("wait", "e" * 64)


def crash(world: World, **memory: object) -> None:
    """Another process opens the journal; the one before it noted no end."""
    world.journal._store.close()
    world.clock.turn(60)
    boot = {"memory": memory} if memory else {}
    world.journal = Journal.open(world.folder, masker=world.masker, clock=world.clock, ids=Ids(world.clock), boot=boot, allowlist=ALLOWLIST)


def launched(world: World, run: Run) -> Claim:
    return world.claim(world.recover(run))


def count(world: World, run: Run) -> int:
    return world.journal.run(run.run_id).recoveries


def resumable(world: World, chat: str = "chat") -> Run:
    run = world.admit(chat, f"message of {chat}")
    world.done(run, model(1))
    return run


def loop(world: World, run: Run) -> Run:
    """Three processes end after this run was launched; the fourth finds it."""
    for _ in range(3):
        crash(world)
        claim = launched(world, run)
        world.begin(claim, model(1))
    crash(world)
    return world.recover(run)


def test_a_launched_run_that_never_passes_its_cursor_is_held_after_three_ends(world: World) -> None:
    run = resumable(world)

    held = loop(world, run)

    assert held.hold is not None
    assert (held.state, held.hold.reason) == (RunState.HELD, HoldReason.CRASH_LOOP)
    assert held.hold.call_id == world.journal.calls(run.run_id)[0].call_id
    assert "three times while this run went on from step 1 (chat)" in held.hold.text
    assert "How it ended is not known" in held.hold.text
    assert may_load(held)


def test_a_run_that_only_waited_for_its_turn_is_never_counted(world: World) -> None:
    guilty, waiting = resumable(world, "guilty"), resumable(world, "waiting")
    for _ in range(4):
        crash(world)
        world.recover(waiting)
        if world.recover(guilty).state is RunState.QUEUED:
            world.claim(guilty)

    assert count(world, waiting) == 0
    assert world.journal.run(waiting.run_id).state is RunState.QUEUED
    assert world.journal.run(guilty.run_id).state is RunState.HELD


def test_a_chat_whose_loading_ends_the_process_is_held_and_not_loaded(world: World) -> None:
    run = resumable(world)
    for _ in range(3):
        crash(world)
        assert may_load(world.journal.begin_recovery(run.run_id).result())
    crash(world)

    held = world.journal.begin_recovery(run.run_id).result()

    assert held.hold is not None
    assert held.hold.reason is HoldReason.CRASH_LOOP
    assert "while the chat of this run was loaded" in held.hold.text
    assert not may_load(held)
    crash(world)
    assert world.journal.begin_recovery(run.run_id).result() == held


def test_a_held_run_whose_chat_cannot_be_loaded_keeps_its_reason_and_its_decisions(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    crash(world)
    before = world.recover(run)
    for _ in range(3):
        crash(world)
        world.journal.begin_recovery(run.run_id).result()
    assert world.journal.run(run.run_id).version == before.version  # what a person was shown did not change
    crash(world)

    held = world.recover(run)

    assert held.hold is not None
    assert held.hold.reason is HoldReason.OUTCOME_UNKNOWN
    assert not may_load(held)
    assert "not loaded" in world.journal.run_view(run.run_id)["run"]["reason"]["text"]
    assert "not loaded" in world.journal.listing()["items"][0]["reason"]["text"]
    assert world.decide(held, Choice.CONFIRMED_COMPLETED, call).state is RunState.QUEUED


def test_after_a_resume_out_of_a_crash_loop_one_more_end_holds_it_at_once(world: World) -> None:
    run = resumable(world)
    world.claim(world.decide(loop(world, run), Choice.RESUME))
    crash(world)

    again = world.recover(run)

    assert again.hold is not None
    assert again.hold.reason is HoldReason.CRASH_LOOP
    assert again.hold.text.startswith("The server ended again while")


@pytest.mark.parametrize("way", ["new step", "replayed wait", "allowed attempt", "hold"])
def test_whoever_moved_on_or_waits_is_no_suspect(world: World, way: str) -> None:
    run = resumable(world)
    permission = {"replayed wait": WAIT}.get(way, Permission())
    if way != "new step":
        world.opened(run, tool(1), permission=permission)
    for _ in range(4):
        crash(world)
        after = world.recover(run, WAIT)
        if way == "allowed attempt" and after.hold is not None:
            after = world.decide(after, Choice.NEW_ATTEMPT, after.hold.call_id)
        if after.state is RunState.QUEUED:
            claim = world.claim(after)
            step = world.begin(claim, tool(1), permission=permission)
            assert step.progress
            if way == "new step":
                world.journal.finish_call(step.call.call_id, Outcome.OK, "x").result()
                world.begin(claim, tool(1, len(world.journal.calls(run.run_id))))

    crash(world)
    held = world.recover(run, WAIT).hold
    assert held is None or held.reason is HoldReason.OUTCOME_UNKNOWN


def test_a_step_that_may_run_again_and_ends_the_process_each_time_is_named(world: World) -> None:
    run = resumable(world)
    world.opened(run, tool(1), permission=ALLOWED, name="response")
    for _ in range(3):
        crash(world)
        world.begin(world.claim(world.recover(run, ALLOWED)), tool(1), permission=ALLOWED, name="response")
    crash(world)

    held = world.recover(run, ALLOWED)

    assert held.hold is not None
    assert "went on from step 2 (response)" in held.hold.text
    offered = {each["id"] for each in world.journal.run_view(run.run_id)["decisions"] if each["allowed"]}
    assert offered == {"confirmed_completed", "confirmed_not_completed", "new_attempt", "stop"}


def test_a_count_of_kills_for_lack_of_memory_is_said(world: World) -> None:
    run = resumable(world)
    crash(world, place="a", kills=1)
    for kills in (2, 2, 3):
        launched(world, run)
        crash(world, place="a", kills=kills)

    held = world.recover(run)

    assert held.hold is not None
    assert "for lack of memory (2 of 3 times)" in held.hold.text


def test_another_machine_proves_nothing_about_memory(world: World) -> None:
    run = resumable(world)
    for place in ("a", "b", "c"):
        crash(world, place=place, kills=9 if place == "c" else 1)
        launched(world, run)
    crash(world, place="d", kills=20)

    held = world.recover(run)

    assert held.hold is not None
    assert "How it ended is not known" in held.hold.text


def test_a_finished_run_whose_chat_ends_the_process_when_it_is_completed_is_left_alone(world: World) -> None:
    run = world.run_in(RunState.COMPLETED)
    for _ in range(3):
        assert world.journal.begin_completion(run.run_id).result() is Completion.DUE
        crash(world)

    assert world.journal.begin_completion(run.run_id).result() is Completion.GIVEN_UP


def test_a_finished_chat_is_completed_once(world: World) -> None:
    run = world.run_in(RunState.COMPLETED)
    assert world.journal.begin_completion(run.run_id).result() is Completion.DUE
    world.journal.end_completion(run.run_id).result()
    head = world.journal.head()

    assert world.journal.begin_completion(run.run_id).result() is Completion.DONE
    assert world.journal.head() == head


def test_ids_of_boots_are_not_asked_for_their_order(world: World) -> None:
    """The clock may have gone back between two starts: the order of the starts is that of their records."""
    run = resumable(world)
    for _ in range(3):
        launched(world, run)
        world.clock.turn(-3600)
        crash(world)

    assert world.recover(run).hold is not None
    assert isinstance(world.clock, Clock)
