"""A secret that became known only after it was stored: nothing answers with it, and the runs that hold it are found."""

from __future__ import annotations

import json

import pytest

from journal.leaks import Leak
from journal.records import Choice, HoldReason, Outcome, RunState
from journal.service import Journal
from tests.store.worlds import World, model, tool

LATE = 'late-canary/k"1ä2'


def everything(world: World, run_id: str) -> str:
    journal = world.journal
    return json.dumps([journal.run_view(run_id), journal.listing(), journal.listing("all")], ensure_ascii=False)


def held_run(world: World) -> str:
    """A run whose every field that is shown holds what nobody knew for a secret."""
    run = (
        world.journal.admit("chat", "m", {"text": LATE}, f"title {LATE}", {"on_restart": "auto"}, world.point(history=("hello",)))
        .result()
        .run
    )
    world.done(run, model(1), {"response": f"I say {LATE}"})
    world.done(run, tool(1), {"deep": [LATE, {"k": LATE}]}, arguments={"code": f"echo {'x' * 112}{LATE}"})
    error = world.opened(run, tool(1, 1), arguments={"deep": {"list": ["y" * 3990 + LATE]}})
    world.journal.finish_call(error.call_id, Outcome.ERROR, None, error=f"failed with {LATE}").result()
    world.journal.keep_input(run.run_id, "x", {"text": f"also {LATE}"}).result()
    unknown = [world.opened(run, tool(1, number), arguments={"command": LATE}) for number in (2, 3)]
    world.restart()
    run = world.recover(run)
    world.decide(run, Choice.CONFIRMED_COMPLETED, unknown[0], note=f"saw {LATE}", origin=f"panel {LATE}")
    return run.run_id


def test_what_was_stored_before_it_was_known_is_masked_in_every_answer(world: World) -> None:
    run_id = held_run(world)
    assert "late-canary" in everything(world, run_id), "until then it is an ordinary text"

    world.hide("LATE", LATE)

    answers = everything(world, run_id)
    assert "late-can" not in answers, "not even a piece, where a view cuts a long text"
    assert "[hidden:LATE]" in answers


def test_a_look_from_outside_masks_with_the_secrets_it_is_given(world: World) -> None:
    run_id = held_run(world)
    world.hide("LATE", LATE)

    look = Journal.look(world.folder, masker=world.masker, clock=world.clock)

    shown = json.dumps([look.run_view(run_id), look.listing(), look.listing("all")], ensure_ascii=False)
    assert "late-can" not in shown
    assert "[hidden:LATE]" in shown


def test_the_text_of_a_hold_is_masked_too(world: World) -> None:
    run = world.admit()
    world.journal.hold_run(run.run_id, HoldReason.ASK, text=f"because {LATE}").result()

    world.hide("LATE", LATE)

    assert "late-can" not in everything(world, run.run_id)
    assert world.journal.find_secrets() == [Leak(run.run_id, ("LATE",))]


def test_decisions_still_match_after_a_secret_became_known(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1), arguments={"command": LATE})
    world.restart()
    run = world.recover(run)
    form = world.decision(run, Choice.CONFIRMED_COMPLETED, call)

    world.hide("LATE", LATE)

    assert world.journal.decide(form).result().state is RunState.QUEUED


@pytest.mark.parametrize("place", ["argument", "result", "error", "message", "waiting", "title", "note", "answer", "history", "usage"])
def test_runs_that_hold_a_secret_are_found_wherever_it_stands(world: World, place: str) -> None:
    def said(here: str) -> str:
        return f"some {LATE}" if place == here else "harmless"

    world.admit("another chat")
    point = world.point(history=("hello", said("history")))
    run = world.journal.admit("chat", "m", {"text": said("message")}, said("title"), {}, point).result().run
    call = world.opened(run, tool(1), arguments={"code": said("argument")})
    world.journal.finish_call(call.call_id, Outcome.OK, [said("result")], error=said("error"), usage={"u": said("usage")}).result()
    world.journal.keep_input(run.run_id, "x", {"text": said("waiting")}).result()
    open_call = world.opened(run, tool(1, 1))
    world.restart()
    run = world.recover(run)
    run = world.decide(run, Choice.CONFIRMED_COMPLETED, open_call, note=said("note"))
    claim = world.claim(run)
    world.journal.close_run(run.run_id, claim.run.token, RunState.COMPLETED, said("answer"), world.point(), []).result()
    assert world.journal.find_secrets() == []

    world.hide("LATE", LATE)

    assert world.journal.find_secrets() == [Leak(run.run_id, ("LATE",))]


def test_what_was_masked_when_it_was_stored_is_no_find(world: World) -> None:
    world.hide("KNOWN", LATE)

    held_run(world)

    assert world.journal.find_secrets() == []
