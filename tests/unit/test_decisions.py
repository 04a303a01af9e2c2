"""What a person may decide under every reason, what it needs, what it does, and what makes it stale (I7)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from journal.decisions import RESTORABLE
from journal.errors import (
    AckMissing,
    NotAllowed,
    NoteMissing,
    RequestReused,
    RunEnded,
    ShownChanged,
    StaleVersion,
    TooLarge,
    UnknownCall,
    UnknownRun,
)
from journal.records import Call, CallKind, Choice, Held, Hold, HoldReason, Outcome, Proceed, Run, RunState, Serve
from tests.store.worlds import ALLOWED, OWNER, World, model, tool

C = Choice
THREE = {C.CONFIRMED_COMPLETED, C.CONFIRMED_NOT_COMPLETED, C.NEW_ATTEMPT}

# For a run whose last call is an open tool call: what may be said about it, and about the run.
TABLE: dict[HoldReason, tuple[set[Choice], set[Choice]]] = {
    HoldReason.OUTCOME_UNKNOWN: (THREE, {C.STOP}),
    HoldReason.NOT_SERVABLE: (THREE, {C.STOP}),
    HoldReason.MODEL_INTERRUPTED: (set(), {C.STOP}),
    HoldReason.DIVERGED: ({C.NEW_ATTEMPT}, {C.STOP}),
    HoldReason.UNRECORDED_STEP: ({C.NEW_ATTEMPT}, {C.STOP}),
    HoldReason.MASKED_VALUE_LOST: ({C.NEW_ATTEMPT, C.CONFIRMED_COMPLETED}, {C.STOP}),
    HoldReason.CRASH_LOOP: (THREE, {C.STOP}),
    HoldReason.ASK: (THREE, {C.STOP}),
    HoldReason.WORLD_DRIFT: (THREE, {C.STOP}),
    HoldReason.RESTORED: (THREE, {C.STOP}),
    HoldReason.CHAT_MOVED_ON: (set(), {C.STOP}),
    HoldReason.CHAT_GONE: (set(), {C.STOP}),
    HoldReason.CHECKPOINT_CORRUPT: (set(), {C.STOP}),
}
PROCEEDS = [(reason, choice) for reason, (about_call, _) in TABLE.items() for choice in sorted(about_call, key=lambda c: c.value)]


def held(world: World, reason: HoldReason, *, finished: bool = False) -> tuple[Run, Call]:
    """A run with a saved model call and a tool call, held for this reason."""
    if reason is HoldReason.MASKED_VALUE_LOST:
        world.hide("TOKEN", "a-long-token")
    run = world.admit()
    world.done(run, model(1))
    arguments = {"code": "curl a-long-token"}
    call = world.opened(run, tool(1), arguments=arguments)
    if finished or reason in (HoldReason.NOT_SERVABLE, HoldReason.DIVERGED):
        call = world.journal.finish_call(call.call_id, Outcome.OK, "saved").result()
    world.restart()
    world.journal.begin_recovery(run.run_id).result()
    return world.journal.settle(run.run_id, Hold(reason, call.call_id)).result(), call


def on_offer(world: World, run: Run, call: Call | None) -> set[Choice]:
    call_id = call.call_id if call else None
    return {
        Choice(each["id"]) for each in world.journal.run_view(run.run_id)["decisions"] if each["allowed"] and each["call_id"] == call_id
    }


def test_the_table_names_every_reason() -> None:
    assert TABLE.keys() == set(HoldReason)


@pytest.mark.parametrize("reason", HoldReason, ids=lambda reason: reason.value)
def test_what_is_on_offer_is_what_the_contract_says(world: World, reason: HoldReason) -> None:
    run, call = held(world, reason)

    assert (on_offer(world, run, call), on_offer(world, run, None)) == TABLE[reason]


@pytest.mark.parametrize("reason", HoldReason, ids=lambda reason: reason.value)
def test_what_is_not_on_offer_says_why_and_is_refused(world: World, reason: HoldReason) -> None:
    run, _ = held(world, reason)

    refused = [each for each in world.journal.run_view(run.run_id)["decisions"] if not each["allowed"]]

    for each in refused:
        assert each["reason"]
        with pytest.raises(NotAllowed) as refusal:
            world.decide(run, Choice(each["id"]), each["call_id"], note="n", ack=True)
        assert refusal.value.why == each["reason"]
    assert world.journal.run(run.run_id) == run


@pytest.mark.parametrize("reason", HoldReason, ids=lambda reason: reason.value)
def test_stop_is_always_possible(world: World, reason: HoldReason) -> None:
    run, _ = held(world, reason)

    assert world.decide(run, Choice.STOP).state is RunState.STOPPED


@pytest.mark.parametrize("reason", [reason for reason in HoldReason if reason not in RESTORABLE], ids=lambda r: r.value)
def test_every_other_reason_has_a_way_out_besides_stop(world: World, reason: HoldReason) -> None:
    if reason is HoldReason.MODEL_INTERRUPTED:
        run = world.admit()
        call = world.opened(run, model(1))
        world.restart()
        run = world.recover(run)
        after = world.journal.grant(run.run_id, run.version, call.call_id, 1, "g", OWNER).result()
    else:
        run, call = held(world, reason)
        after = world.decide(run, sorted(TABLE[reason][0], key=lambda choice: choice.value)[0], call)

    assert after.state is RunState.QUEUED
    assert world.claim(after).token == run.token + 1


@pytest.mark.parametrize("reason", [HoldReason.CRASH_LOOP, HoldReason.ASK, HoldReason.WORLD_DRIFT], ids=lambda reason: reason.value)
def test_a_run_without_unknown_calls_may_resume(world: World, reason: HoldReason) -> None:
    run, _ = held(world, reason, finished=True)

    after = world.decide(run, Choice.RESUME)

    # a run that was resumed out of a crash loop is held at once when it ends the process again
    assert (after.state, after.recoveries) == (RunState.QUEUED, 2 if reason is HoldReason.CRASH_LOOP else 0)


# -- what a decision does -------------------------------------------------------------------------


@pytest.mark.parametrize(("reason", "choice"), PROCEEDS, ids=lambda value: value.value)
def test_a_decision_counts_exactly_once(world: World, reason: HoldReason, choice: Choice) -> None:
    run, call = held(world, reason)
    fresh_model = choice is Choice.NEW_ATTEMPT and reason is HoldReason.MASKED_VALUE_LOST
    claim = world.claim(world.decide(run, choice, call))

    if fresh_model:
        assert isinstance(world.begin(claim, model(1)), Proceed)
        return
    step = world.begin(claim, tool(1), arguments={"code": "curl a-long-token"})

    if choice is Choice.CONFIRMED_COMPLETED:
        assert isinstance(step, Serve)
        assert (step.call.outcome, step.call.origin) == (Outcome.CONFIRMED, "decision")
        return
    assert isinstance(step, Proceed)
    world.restart()
    again = world.begin(world.claim(world.journal.settle(run.run_id, None).result()), tool(1), arguments={"code": "curl a-long-token"})
    assert isinstance(again, Held)
    assert again.hold.reason is HoldReason.OUTCOME_UNKNOWN


def test_a_decision_that_was_not_acted_on_yet_survives_a_restart(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)
    world.decide(run, Choice.NEW_ATTEMPT, call)
    world.restart()

    after = world.recover(run)

    assert after.state is RunState.QUEUED
    step = world.begin(world.claim(after), tool(1), arguments={"code": "curl a-long-token"})
    assert isinstance(step, Proceed)
    assert (step.call.attempts, step.call.allowance) == (2, 0)


def test_what_a_person_confirmed_is_what_the_model_reads(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    world.decide(run, Choice.CONFIRMED_COMPLETED, call, result_text="pushed 3 commits")

    assert world.journal.calls(run.run_id)[-1].value == "pushed 3 commits"


def test_without_a_text_the_model_reads_a_fixed_sentence_and_the_note(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    world.decide(run, Choice.CONFIRMED_COMPLETED, call, note="seen on the web page")

    value = world.journal.calls(run.run_id)[-1].value
    assert value.startswith("A person confirmed that this step was completed.")
    assert "seen on the web page" in value


def test_a_result_that_cannot_be_served_is_kept_when_a_person_decides_about_it(world: World) -> None:
    run, call = held(world, HoldReason.NOT_SERVABLE)
    assert call.outcome is Outcome.OK

    world.decide(run, Choice.NEW_ATTEMPT, call)

    after = world.journal.calls(run.run_id)[-1]
    assert (after.outcome, after.allowance) == (None, 1)
    assert "set aside" in " ".join(event["text"] for event in world.journal.run_view(run.run_id)["events"])


def test_after_diverged_the_run_starts_over_from_that_step_and_the_records_stay(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    other = world.done(run, tool(1), arguments={"code": "a"})
    world.done(run, model(2))
    world.restart()
    claim = world.claim(world.recover(run))
    world.begin(claim, model(1))
    step = world.begin(claim, tool(1), arguments={"code": "b"})
    assert isinstance(step, Held)

    claim = world.claim(world.decide(step.run, Choice.NEW_ATTEMPT, other))

    assert isinstance(world.begin(claim, model(1)), Serve)
    assert isinstance(world.begin(claim, tool(1), arguments={"code": "b"}), Proceed)
    assert isinstance(world.begin(claim, model(2)), Proceed)
    assert [call.abandoned for call in world.journal.calls(run.run_id)] == [False, True, True, False, False]


def test_with_several_unknown_calls_the_run_goes_on_after_the_last(world: World) -> None:
    run = world.admit()
    calls = [world.opened(run, tool(1, ordinal)) for ordinal in range(3)]
    world.restart()
    run = world.recover(run)

    states = [world.decide(run, choice, call).state for call, choice in zip(calls, THREE, strict=True)]

    assert states == [RunState.HELD, RunState.HELD, RunState.QUEUED]


def test_what_may_be_repeated_anyway_is_not_asked(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1, 0), permission=ALLOWED)
    unknown = world.opened(run, tool(1, 1))
    world.restart()
    run = world.recover(run, ALLOWED)

    assert {each["call_id"] for each in world.journal.run_view(run.run_id)["decisions"]} == {unknown.call_id, None}
    assert world.decide(run, Choice.CONFIRMED_COMPLETED, unknown).state is RunState.QUEUED


def test_a_result_that_arrives_while_the_run_is_held_leaves_resume(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    run = world.journal.interrupt_run(run.run_id, "nudge").result()
    form = world.decision(run, Choice.NEW_ATTEMPT, call)

    world.journal.finish_call(call.call_id, Outcome.OK, "done after all").result()

    with pytest.raises(StaleVersion):
        world.journal.decide(form).result()
    assert world.decide(run, Choice.RESUME).state is RunState.QUEUED


# -- what a decision needs ------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [Choice.CONFIRMED_COMPLETED, Choice.CONFIRMED_NOT_COMPLETED], ids=lambda choice: choice.value)
@pytest.mark.parametrize("note", ["", "  \n"])
def test_a_confirmation_needs_a_note(world: World, choice: Choice, note: str) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    with pytest.raises(NoteMissing):
        world.decide(run, choice, call, note=note)

    assert world.journal.run(run.run_id) == run


def test_a_new_attempt_needs_consent(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    with pytest.raises(AckMissing):
        world.decide(run, Choice.NEW_ATTEMPT, call, ack=False)

    assert world.journal.run(run.run_id) == run


@pytest.mark.parametrize(("field", "size"), [("note", 2001), ("result_text", 64 * 1024 + 1)])
def test_texts_have_a_limit(world: World, field: str, size: int) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    with pytest.raises(TooLarge):
        world.decide(run, Choice.CONFIRMED_COMPLETED, call, **{field: "x" * size})


def test_an_older_version_is_stale(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    for version in (run.version - 1, run.version + 1):
        with pytest.raises(StaleVersion) as refusal:
            world.decide(run, Choice.CONFIRMED_COMPLETED, call, version=version)
        assert refusal.value.run == run


def test_a_form_that_showed_something_else_is_refused(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    with pytest.raises(ShownChanged):
        world.decide(run, Choice.CONFIRMED_COMPLETED, call, shown_digest="0" * 64)


def test_every_choice_about_every_call_has_a_digest_of_its_own(world: World) -> None:
    run = world.admit()
    for ordinal in range(3):
        world.opened(run, tool(1, ordinal), arguments={"code": "the same"})
    world.restart()
    run = world.recover(run)

    digests = [each["digest"] for each in world.journal.run_view(run.run_id)["decisions"]]

    assert len(set(digests)) == len(digests) == 11


def test_a_form_survives_what_is_not_about_it(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)
    before = world.offered(run, Choice.CONFIRMED_COMPLETED, call)["digest"]

    world.restart()

    assert world.offered(run, Choice.CONFIRMED_COMPLETED, call)["digest"] == before


@pytest.mark.parametrize("version", [0, -1, 2**63, 2**70, -(2**70)])
def test_a_version_that_never_was_is_stale(world: World, version: int) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    with pytest.raises(StaleVersion):
        world.decide(run, C.NEW_ATTEMPT, call, version=version)

    assert world.journal.run(run.run_id) == run


def test_ones_own_decisions_do_not_make_the_form_stale(world: World) -> None:
    run = world.admit()
    first, second = (world.opened(run, tool(1, ordinal)) for ordinal in range(2))
    world.restart()
    run = world.recover(run)
    forms = [world.decision(run, Choice.CONFIRMED_COMPLETED, call) for call in (first, second)]

    states = [world.journal.decide(form).result().state for form in forms]

    assert states == [RunState.HELD, RunState.QUEUED]


def test_decisions_of_somebody_else_make_it_stale(world: World) -> None:
    run = world.admit()
    first, second = (world.opened(run, tool(1, ordinal)) for ordinal in range(2))
    world.restart()
    run = world.recover(run)
    mine = world.decision(run, Choice.CONFIRMED_COMPLETED, second)

    world.decide(run, Choice.CONFIRMED_COMPLETED, first, origin="panel:bob")

    with pytest.raises(StaleVersion):
        world.journal.decide(mine).result()


def test_two_tabs_that_decide_the_same_call_get_one_decision(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)
    tabs = [world.decision(run, choice, call) for choice in (Choice.CONFIRMED_COMPLETED, Choice.NEW_ATTEMPT)]

    world.journal.decide(tabs[0]).result()

    with pytest.raises(StaleVersion):
        world.journal.decide(tabs[1]).result()
    assert len(world.journal.run_view(run.run_id)["recorded"]) == 1


def test_two_tabs_of_one_person_do_not_decide_the_same_call_twice(world: World) -> None:
    run = world.admit()
    first, _ = (world.opened(run, tool(1, ordinal)) for ordinal in range(2))
    world.restart()
    run = world.recover(run)
    tabs = [world.decision(run, choice, first) for choice in (Choice.CONFIRMED_COMPLETED, Choice.NEW_ATTEMPT)]

    assert world.journal.decide(tabs[0]).result().state is RunState.HELD

    with pytest.raises(StaleVersion):
        world.journal.decide(tabs[1]).result()


def test_the_same_request_twice_is_one_decision(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)
    form = world.decision(run, Choice.NEW_ATTEMPT, call)

    first = world.journal.decide(form).result()
    again = world.journal.decide(form).result()

    assert again == first
    assert world.journal.calls(run.run_id)[-1].allowance == 1
    assert len(world.journal.run_view(run.run_id)["recorded"]) == 1


def test_the_same_request_id_for_something_else_is_refused(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)
    form = world.decision(run, Choice.NEW_ATTEMPT, call)
    world.journal.decide(form).result()

    with pytest.raises(RequestReused):
        world.journal.decide(replace(form, choice=Choice.STOP, call_id=None)).result()


def test_unknown_things_are_refused(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)
    form = world.decision(run, Choice.NEW_ATTEMPT, call)

    with pytest.raises(UnknownRun):
        world.journal.decide(replace(form, run_id="run_x", request_id="x")).result()  # type: ignore[arg-type]
    with pytest.raises(UnknownCall):
        world.journal.decide(replace(form, call_id="call_x", request_id="y")).result()  # type: ignore[arg-type]


def test_an_ended_run_is_not_decided(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)
    form = world.decision(run, Choice.NEW_ATTEMPT, call)
    world.decide(run, Choice.STOP)

    with pytest.raises(RunEnded):
        world.journal.decide(form).result()


def test_a_running_run_can_be_stopped_from_the_panel_and_nothing_else(world: World) -> None:
    run = world.admit()

    assert on_offer(world, run, None) == {Choice.STOP}
    assert world.decide(run, Choice.STOP).state is RunState.STOPPED


def test_a_decision_records_where_it_came_from(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    world.decide(run, Choice.CONFIRMED_COMPLETED, call, note="seen", origin="panel:carol")

    (recorded,) = world.journal.run_view(run.run_id)["recorded"]
    assert (recorded["id"], recorded["call_id"], recorded["note"], recorded["origin"]) == (
        "confirmed_completed",
        call.call_id,
        "seen",
        "panel:carol",
    )


# -- grants -----------------------------------------------------------------------------------------


def interrupted(world: World) -> tuple[Run, Call]:
    run = world.admit()
    call = world.opened(run, model(1))
    world.restart()
    return world.recover(run), call


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_a_grant_is_used_up_before_each_attempt(world: World, attempts: int) -> None:
    run, call = interrupted(world)
    after = world.journal.grant(run.run_id, run.version, call.call_id, attempts, "g", OWNER).result()

    for number in range(attempts):
        step = world.begin(world.claim(after), model(1))
        assert isinstance(step, Proceed)
        assert (step.call.attempts, step.call.allowance) == (number + 2, attempts - number - 1)
        world.restart()
        after = world.recover(run)

    assert after.hold is not None
    assert after.hold.reason is HoldReason.MODEL_INTERRUPTED


@pytest.mark.parametrize("attempts", [0, 4, -1])
def test_a_grant_is_bounded(world: World, attempts: int) -> None:
    run, call = interrupted(world)

    with pytest.raises(NotAllowed):
        world.journal.grant(run.run_id, run.version, call.call_id, attempts, "g", OWNER).result()


def test_only_a_cut_off_model_call_is_granted(world: World) -> None:
    run, call = held(world, HoldReason.OUTCOME_UNKNOWN)

    assert call.key.kind is CallKind.TOOL
    with pytest.raises(NotAllowed):
        world.journal.grant(run.run_id, run.version, call.call_id, 1, "g", OWNER).result()


def test_a_grant_is_versioned_and_counted_once(world: World) -> None:
    run, call = interrupted(world)
    with pytest.raises(StaleVersion):
        world.journal.grant(run.run_id, run.version - 1, call.call_id, 1, "old", OWNER).result()

    first = world.journal.grant(run.run_id, run.version, call.call_id, 2, "g", OWNER).result()
    again = world.journal.grant(run.run_id, run.version, call.call_id, 2, "g", OWNER).result()

    assert again == first
    assert world.journal.calls(run.run_id)[0].allowance == 2
    with pytest.raises(RequestReused):
        world.journal.grant(run.run_id, run.version, call.call_id, 3, "g", OWNER).result()


def test_after_a_restore_the_run_goes_on_after_its_last_saved_step(world: World) -> None:
    run, call = held(world, HoldReason.RESTORED, finished=True)
    assert on_offer(world, run, call) == {Choice.NEW_ATTEMPT}

    claim = world.claim(world.decide(run, Choice.NEW_ATTEMPT, call))

    assert isinstance(world.begin(claim, tool(1), arguments={"code": "curl a-long-token"}), Serve)


def test_a_step_without_any_record_starts_over_from_the_last_checkpoint(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}), []).result()
    world.done(run, model(2))
    run = world.journal.hold_run(run.run_id, HoldReason.UNRECORDED_STEP).result()

    claim = world.claim(world.decide(run, Choice.NEW_ATTEMPT))

    assert isinstance(world.begin(claim, model(1)), Serve)
    assert isinstance(world.begin(claim, model(2)), Proceed)


# -- several unknown calls of a journal that was put back ---------------------------------------


def two_unknown_and_put_back(world: World, *, last_is_saved: bool = False) -> tuple[Run, list[Call]]:
    run = world.admit()
    world.done(run, model(1))
    all_calls = [world.opened(run, tool(1, ordinal), arguments={"code": f"push {ordinal}"}) for ordinal in (0, 1)]
    if last_is_saved:
        all_calls.append(world.done(run, tool(1, 2)))
    world.restart()
    world.journal.begin_recovery(run.run_id).result()
    return world.journal.settle(run.run_id, Hold(HoldReason.RESTORED)).result(), all_calls


@pytest.mark.parametrize("choice", [C.CONFIRMED_COMPLETED, C.NEW_ATTEMPT])
@pytest.mark.parametrize("last_is_saved", [False, True])
def test_a_restored_run_waits_until_the_last_unknown_call_is_decided(world: World, choice: Choice, last_is_saved: bool) -> None:
    run, (first, second, *_) = two_unknown_and_put_back(world, last_is_saved=last_is_saved)

    one = world.decide(run, choice, first, note="Looked.", ack=True)
    both = world.decide(one, choice, second, note="Looked.", ack=True)

    assert (one.state, both.state) == (RunState.HELD, RunState.QUEUED)


def test_the_way_on_of_a_restored_run_is_one_decision(world: World) -> None:
    run, (*_, last) = two_unknown_and_put_back(world, last_is_saved=True)

    after = world.decide(run, C.NEW_ATTEMPT, last, ack=True)

    assert after.state is RunState.QUEUED
    assert world.recover(after).hold.reason is HoldReason.OUTCOME_UNKNOWN  # what is unknown is still asked about
