"""What will happen is what happens: every preview of every held run is compared with the resume that follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from journal.errors import ShownChanged
from journal.planner import Next
from journal.preview import _BY_PLAN, WORDS, Fate
from journal.records import Call, Choice, Held, Hold, HoldReason, Outcome, Permission, Proceed, Run, RunState, Serve
from journal.replay import Policy, Repeat
from journal.runs import MOVES
from tests.store.worlds import ALLOWED, OWNER, World, model, tool

from .test_decisions import TABLE, held

SECRET = {"code": "curl a-long-token"}


def twice_unknown(world: World) -> Run:
    run = world.admit()
    world.done(run, model(1))
    for ordinal in range(2):
        world.opened(run, tool(1, ordinal), arguments=SECRET)
    world.restart()
    return world.recover(run)


def beside_a_repeatable(world: World) -> Run:
    run = world.admit()
    world.done(run, model(1))
    world.opened(run, tool(1, 0), arguments=SECRET, permission=ALLOWED)
    world.opened(run, tool(1, 1), arguments=SECRET)
    world.restart()
    return world.recover(run, ALLOWED)


def beside_one_whose_source_changed(world: World) -> Run:
    """What was repeatable is not any more: the tool's file is another one now."""
    run = beside_a_repeatable(world)
    world.journal.permission_now = lambda call: Permission("response", "0" * 64)
    return run


def after_many(world: World) -> Run:
    run = world.admit()
    for step in range(1, 6):
        world.done(run, model(step))
        world.done(run, tool(step), arguments=SECRET)
    world.done(run, model(6))
    world.opened(run, tool(6), arguments=SECRET)
    world.restart()
    return world.recover(run)


def set_aside_before(world: World) -> Run:
    """Records that an earlier decision took out of the run, and an unknown step in their place."""
    run, call = held(world, HoldReason.DIVERGED)
    claim = world.claim(world.decide(run, Choice.NEW_ATTEMPT, call))
    world.begin(claim, model(1))
    world.opened(claim, tool(1), arguments={"code": "other"})
    world.restart()
    return world.recover(run)


def reported(world: World) -> Run:
    """Nothing is asked of a person but whether to go on: the model is told of what is unknown."""
    mode = {"on_restart": "ask", "interrupted_tool_call": "report"}
    run = world.journal.admit("chat", "m", {"text": "x"}, "A title", mode, world.point()).result().run
    world.done(run, model(1))
    call = world.opened(run, tool(1), arguments=SECRET)
    world.restart()
    world.journal.begin_recovery(run.run_id).result()
    return world.journal.settle(run.run_id, Hold(HoldReason.ASK, call.call_id)).result()


def asked_once_more(world: World) -> Run:
    """A model call that was cut off, in a run whose mode asks it once more, beside a step that nobody knows the end of."""
    mode = {"interrupted_model_call": "retry"}
    run = world.journal.admit("chat", "m", {"text": "x"}, "A title", mode, world.point()).result().run
    world.opened(run, tool(1), arguments=SECRET)
    world.opened(run, model(2), extra={"hosted_tools": False})
    world.restart()
    return world.recover(run)


def finished_under(reason: HoldReason) -> Callable[[World], Run]:
    return lambda world: held(world, reason, finished=True)[0]


def open_under(reason: HoldReason) -> Callable[[World], Run]:
    return lambda world: held(world, reason)[0]


FIXTURES: dict[str, Callable[[World], Run]] = {
    **{reason.value: open_under(reason) for reason in TABLE},
    **{f"{reason.value}, all saved": finished_under(reason) for reason in TABLE},
    "two unknown": twice_unknown,
    "beside a repeatable": beside_a_repeatable,
    "source changed": beside_one_whose_source_changed,
    "after many": after_many,
    "set aside before": set_aside_before,
    "reported to the model": reported,
    "model asked once more": asked_once_more,
}


def offered(world: World, run: Run) -> list[dict[str, Any]]:
    return [offer for offer in world.journal.run_view(run.run_id)["decisions"] if offer["allowed"]]


def foreseen(world: World, run: Run, wanted: dict[str, Any]) -> list[tuple[Call, Fate]]:
    _, _, offers = world.journal.offers(run.run_id)
    offer = next(each for each in offers if each.choice.value == wanted["id"] and each.call_id == wanted["call_id"])
    return [(step.call, step.fate) for step in offer.steps]


def happens(world: World, run: Run, calls: list[Call]) -> dict[str, Fate]:
    """What the resume really does with each of these calls, up to the first that it holds at."""
    claim = world.claim(run)
    found: dict[str, Fate] = {}
    for call in calls:
        before = next(each for each in world.journal.calls(run.run_id) if each.call_id == call.call_id)
        arguments = SECRET if call.lossy else call.arguments
        permission = world.journal.permission_now(call)
        match step := world.begin(claim, call.key, arguments=arguments, name=call.name, permission=permission):
            case Serve() if before.outcome is None and step.call.outcome is Outcome.UNKNOWN:
                found[call.call_id] = Fate.REPORTED
            case Serve():
                found[call.call_id] = Fate.COUNTED if step.call.outcome is Outcome.CONFIRMED else Fate.REUSED
            case Proceed() if step.call.call_id != call.call_id:
                found[call.call_id] = Fate.SET_ASIDE
            case Proceed():
                found[call.call_id] = Fate.RUNS if before.allowance or call.key.kind.is_inference else Fate.REPEATED
            case Held():
                found[call.call_id] = Fate.ASKED
                return found
    return found


@pytest.mark.parametrize("name", FIXTURES)
def test_what_is_previewed_is_what_happens(tmp_path: Any, name: str) -> None:
    number = 0
    while True:
        world = World(tmp_path / str(number))
        try:
            run = FIXTURES[name](world)
            offers = offered(world, run)
            shown = foreseen(world, run, offers[number])
            compare(world, run, offers[number], shown)
        finally:
            world.close()
        number += 1
        if number == len(offers):
            return


def compare(world: World, run: Run, offer: dict[str, Any], shown: list[tuple[Call, Fate]]) -> None:
    choice = Choice(offer["id"])
    after = world.decide(run, choice, offer["call_id"])
    fates = {call.call_id: fate for call, fate in shown}
    if choice is Choice.STOP:
        assert after.state is RunState.STOPPED
        assert MOVES.get(after.state) is None  # nothing leads out of it, so nothing runs
        assert set(fates.values()) <= {Fate.KEPT, Fate.ENDED}
        assert offer["then"].startswith("The run ends.")
        return
    if after.state is RunState.HELD:
        waits = {each["call_id"] for each in offered(world, after)} - {None}
        assert waits == {call_id for call_id, fate in fates.items() if fate is Fate.ASKED}
        assert offer["then"].startswith("The run stays on hold until step ")
        return
    assert offer["then"].startswith("The run goes on")
    found = happens(world, after, [call for call, _ in shown])
    assert found == {call_id: fate for call_id, fate in fates.items() if call_id in found}
    if Fate.ASKED not in found.values():
        assert found.keys() == fates.keys()
    else:
        assert offer["then"].endswith("to ask you.")


def test_more_attempts_of_a_model_call_are_previewed(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    world.done(run, tool(1))
    call = world.opened(run, model(2))
    world.restart()
    run = world.recover(run)
    (grant,) = world.journal.run_view(run.run_id)["grants"]

    assert [(step["n"], step["to"], step["what"]) for step in grant["steps"]] == [(1, 2, "reused"), (3, 3, "runs")]
    after = world.journal.grant(run.run_id, run.version, call.call_id, 1, "g", OWNER).result()
    found = happens(world, after, world.journal.calls(run.run_id))
    assert list(found.values()) == [Fate.REUSED, Fate.REUSED, Fate.RUNS]


def test_what_a_check_proves_is_not_foretold(world: World) -> None:
    world.journal.allowlist = {"looked": Policy("A check can tell.", Repeat.CHECKED)}
    looked = Permission("looked", "1" * 64)
    run = world.admit()
    world.opened(run, tool(1, 0), permission=looked)
    unknown = world.opened(run, tool(1, 1))
    world.restart()
    world.journal.allowlist = {"looked": Policy("A check can tell.", Repeat.CHECKED)}
    run = world.recover(run, looked)

    offer = world.offered(run, Choice.CONFIRMED_COMPLETED, unknown)

    assert [step["what"] for step in offer["steps"]] == ["checked", "counted"]


def test_neighbours_that_are_reused_are_one_row_of_the_page(world: World) -> None:
    run = after_many(world)

    offer = next(each for each in offered(world, run) if each["id"] == "new_attempt")

    assert [(step["n"], step["to"], step["what"]) for step in offer["steps"]] == [(1, 11, "reused"), (12, 12, "runs")]
    assert offer["then"] == "The run goes on with new steps."


def test_a_preview_that_changed_is_refused(world: World) -> None:
    """A tool's file is replaced between looking and deciding: what was shown would not be what happens."""
    run = beside_a_repeatable(world)
    unknown = world.journal.calls(run.run_id)[-1]
    form = world.decision(run, Choice.CONFIRMED_COMPLETED, unknown)
    world.journal.permission_now = lambda call: Permission("response", "0" * 64)

    with pytest.raises(ShownChanged):
        world.journal.decide(form).result()

    assert world.journal.run(run.run_id) == run


def test_what_a_person_says_about_another_call_of_the_hold_does_not_change_the_digest(world: World) -> None:
    run = twice_unknown(world)
    _, first, second = world.journal.calls(run.run_id)
    form = world.decision(run, Choice.CONFIRMED_COMPLETED, second)

    world.decide(run, Choice.NEW_ATTEMPT, first)

    assert world.journal.decide(form).result().state is RunState.QUEUED


def test_every_plan_and_every_fate_has_its_words() -> None:
    assert _BY_PLAN.keys() == set(Next)
    assert WORDS.keys() == set(Fate)
