"""Intent before the effect, the first result after it, and what may be submitted again (I1, I2)."""

from __future__ import annotations

from typing import Any

import pytest

from journal.errors import KeyReused, NotRunning, ResultConflict, TooLarge, UnknownCall
from journal.records import HoldReason, Outcome, Proceed, ResumePoint, RunState
from journal.trees import Pack
from journal.values import Opaque
from tests.store.worlds import NOTHING, World, model, tool


def test_a_new_call_is_recorded_before_it_may_start(world: World) -> None:
    run = world.admit()

    step = world.begin(run, tool(1), arguments={"code": "ls"}, extra={"until": 5})

    assert isinstance(step, Proceed)
    assert not step.replayed
    (call,) = world.journal.calls(run.run_id)
    assert call == step.call
    assert (call.name, call.arguments, call.attempts, call.outcome, call.extra) == ("shell", {"code": "ls"}, 1, None, {"until": 5})
    assert call.seq == world.journal.head()


def test_a_result_is_kept_with_everything_that_belongs_to_it(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1), extra={"until": 5})
    world.clock.turn(3)

    done = world.journal.finish_call(
        call.call_id, Outcome.OK, {"message": "ok", "data": b"\x00"}, usage={"tokens": 7}, extra={"heading": "H"}
    ).result()

    assert done == world.journal.calls(run.run_id)[0]
    assert (done.outcome, done.value, done.usage) == (Outcome.OK, {"message": "ok", "data": b"\x00"}, {"tokens": 7})
    assert done.extra == {"until": 5, "heading": "H"}
    assert done.ended_at == call.started_at + 3000


def test_an_error_that_no_encoding_can_hold_is_answered_as_it_is_kept(world: World) -> None:
    call = world.opened(world.admit(), tool(1))

    first = world.journal.finish_call(call.call_id, Outcome.ERROR, None, error="half \ud8e4 a sign").result()
    again = world.journal.finish_call(call.call_id, Outcome.ERROR, None, error="half \ud8e4 a sign").result()

    assert first == again == world.journal.calls(call.run_id)[0]
    assert first.error == "half \\ud8e4 a sign"


def test_submitting_an_intent_again_is_the_same_attempt(world: World) -> None:
    run = world.admit()
    first = world.opened(run, tool(1))

    again = world.begin(run, tool(1))

    assert again == Proceed(first)
    assert len(world.journal.calls(run.run_id)) == 1


@pytest.mark.parametrize("how", [{"identity": "other"}, {"arguments": {"code": "rm"}}], ids=["identity", "arguments"])
def test_another_call_at_the_place_of_a_living_one_is_refused(world: World, how: dict[str, Any]) -> None:
    run = world.admit()
    world.opened(run, tool(1))

    with pytest.raises(KeyReused):
        world.begin(run, tool(1), **how)


def test_a_finished_call_of_the_living_run_is_no_hit(world: World) -> None:
    run = world.admit()
    world.done(run, tool(1))

    with pytest.raises(KeyReused):
        world.begin(run, tool(1))


def test_the_same_result_again_changes_nothing(world: World) -> None:
    run = world.admit()
    done = world.done(run, tool(1))
    head = world.journal.head()

    again = world.journal.finish_call(done.call_id, Outcome.OK, "fine").result()

    assert again == done
    assert world.journal.head() == head


@pytest.mark.parametrize(
    ("outcome", "value", "error"), [(Outcome.OK, "different", ""), (Outcome.ERROR, "fine", ""), (Outcome.OK, "fine", "an error")]
)
def test_a_different_result_is_refused_and_kept_beside_the_first(world: World, outcome: Outcome, value: str, error: str) -> None:
    run = world.admit()
    done = world.done(run, tool(1))

    for _ in range(2):
        with pytest.raises(ResultConflict) as refusal:
            world.journal.finish_call(done.call_id, outcome, value, error=error).result()

    (after,) = world.journal.calls(run.run_id)
    assert refusal.value.stored == done.result_digest
    assert (after.outcome, after.value, after.late_results) == (Outcome.OK, "fine", 1)


@pytest.mark.parametrize("end", [RunState.COMPLETED, RunState.STOPPED], ids=lambda state: state.value)
def test_a_result_after_the_end_is_late_and_changes_no_state(world: World, end: RunState) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    if end is RunState.STOPPED:
        world.journal.stop_run(run.run_id, "panel").result()
    else:
        world.journal.close_run(run.run_id, run.token, end, "bye", world.point(), []).result()
    before = world.journal.run(run.run_id)

    late = world.journal.finish_call(call.call_id, Outcome.OK, "done after all").result()

    assert (late.outcome, late.late_results) == (None, 1)
    assert world.journal.run(run.run_id) == before


def test_a_result_under_an_old_token_is_late(world: World) -> None:
    run = world.admit()
    call = world.opened(run, model(1))
    world.journal.interrupt_run(run.run_id, "nudge").result()

    late = world.journal.finish_call(call.call_id, Outcome.OK, "answer").result()

    assert (late.outcome, late.value, late.late_results) == (Outcome.SUPERSEDED, None, 1)


def test_a_sibling_that_finishes_while_the_run_is_held_keeps_its_result(world: World) -> None:
    run = world.admit()
    sibling = world.opened(run, tool(1, 0))
    held = world.journal.hold_run(run.run_id, HoldReason.NOT_SERVABLE).result()

    done = world.journal.finish_call(sibling.call_id, Outcome.OK, "fine").result()

    assert done.outcome is Outcome.OK
    after = world.journal.run(run.run_id)
    assert (after.state, after.version) == (RunState.HELD, held.version + 1)


def test_silence_in_a_held_run_does_not_settle_what_a_person_is_asked(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.journal.interrupt_run(run.run_id, "nudge").result()

    world.journal.finish_call(call.call_id, Outcome.UNKNOWN, "cancelled").result()

    (after,) = world.journal.calls(run.run_id)
    assert after.outcome is None


def test_a_call_that_is_not_recorded_has_no_result(world: World) -> None:
    with pytest.raises(UnknownCall):
        world.journal.finish_call("call_of_nobody", Outcome.OK, 1).result()


def test_nothing_begins_after_a_stop_not_even_from_a_call_in_flight(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1, 0))
    stopped = world.journal.stop_run(run.run_id, "panel")
    beginning = world.journal.begin_call(run.run_id, run.token, 0, tool(1, 1), name="x", identity_of=1, arguments={}, permission=NOTHING)

    assert stopped.result().state is RunState.STOPPED
    with pytest.raises(NotRunning):
        beginning.result()
    assert len(world.journal.calls(run.run_id)) == 1


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")


class HostileDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


def cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [Hostile(), HostileDict(a=1), cycle(), {"x": {1, 2}}, "\ud800", float("nan"), b"\xff" * 3_000_000],
    ids=lambda v: type(v).__name__,
)
def test_no_value_can_keep_a_result_from_being_saved(world: World, value: Any) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))

    done = world.journal.finish_call(call.call_id, Outcome.OK, value, error="e\ud800", usage={"x": value}, extra={"y": value}).result()

    assert done.outcome is Outcome.OK
    assert done.value is not None
    assert world.journal.calls(run.run_id)[0].value is not None


def test_a_hostile_value_keeps_its_type(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))

    done = world.journal.finish_call(call.call_id, Outcome.OK, Hostile()).result()

    assert isinstance(done.value, Opaque)
    assert done.value.type_name.endswith("Hostile")


def test_arguments_that_are_too_large_are_refused_before_the_effect(world: World) -> None:
    run = world.admit()

    with pytest.raises(TooLarge):
        world.begin(run, tool(1), arguments={"data": b"x" * (65 * 1024 * 1024)}, identity=1)

    assert world.journal.calls(run.run_id) == []


def test_what_a_turn_writes_does_not_grow_with_the_history(world: World) -> None:
    """I13, counted in bytes of bodies: 120 turns of one chat, each with one model and one tool call."""

    history: list[Any] = []
    known: set[Any] = set()
    cost = []
    for turn in range(120):
        pack = Pack(world.masker, known)
        history.append(pack.put(f"message {turn:05d}"))
        point = ResumePoint(pack.put({"history": pack.list(history)}), pack.nodes, {"A0": turn})
        run = world.journal.admit("chat", f"m{turn}", {"text": f"{turn:05d}"}, "T", {}, point).result().run
        known |= pack.nodes.keys()
        world.done(run, model(1), f"answer {turn:05d}", arguments={"history": point.root})
        world.done(run, tool(1), f"output {turn:05d}", arguments={"code": f"{turn:05d}"})
        world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", None, []).result()
        cost.append(sum(len(body) for body in pack.nodes.values()))

    assert max(cost[100:]) < 3000
    assert sum(cost[80:]) < 1.5 * sum(cost[40:80])
