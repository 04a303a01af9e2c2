"""What was chosen for a run decides what a restart makes of it: wait, tell the model, ask once more, or end."""

from __future__ import annotations

from typing import Any

import pytest

from journal.modes import DEFAULTS, HOSTED_TOOLS, REPORTED, VALUES, Mode
from journal.records import CallKey, CallKind, Choice, Claim, HoldReason, Outcome, Permission, Proceed, Run, RunState, Serve
from journal.recovery import Restart
from tests.store.worlds import ALLOWED, NOTHING, OWNER, World, model, tool

NO_HOSTED = {HOSTED_TOOLS: False}


def admitted(world: World, **mode: str) -> Run:
    content = {"text": "please"}
    return world.journal.admit("chat", "m1", content, "A title", {**DEFAULTS, **mode}, world.point()).result().run


def restarted(world: World, run: Run, now: Permission = NOTHING) -> Restart:
    world.restart()
    world.journal.begin_recovery(run.run_id).result()
    return world.journal.after_restart(run.run_id, lambda call: now)


def goes_on(world: World, run: Run, now: Permission = NOTHING) -> Claim:
    """The run is neither held nor ended by the restart, and is claimed."""
    assert restarted(world, run, now) == Restart()
    return world.claim(world.journal.settle(run.run_id, None).result())


def test_the_first_value_of_each_setting_is_the_default_and_asks_a_person() -> None:
    assert dict(DEFAULTS) == {name: values[0] for name, values in VALUES.items()}
    assert Mode.of(DEFAULTS) == Mode.of({}) == Mode()


def test_a_run_keeps_the_mode_that_it_was_admitted_under(world: World) -> None:
    run = admitted(world, on_restart="ask", live_unknown="hold")
    world.restart()

    stored = Mode.of(world.journal.run(run.run_id).mode)

    assert (stored.asks, stored.holds_live, stored.reports, stored.retries, stored.ends) == (True, True, False, False, False)


# -- ask and off --------------------------------------------------------------------------------


def test_in_mode_ask_a_run_without_anything_unknown_needs_resume_alone(world: World) -> None:
    run = admitted(world, on_restart="ask")
    world.done(run, model(1))

    plan = restarted(world, run)
    held = world.journal.settle(run.run_id, plan.hold).result()

    assert held.hold is not None
    assert (held.hold.reason, held.hold.call_id) == (HoldReason.ASK, None)
    allowed = {offer["id"] for offer in world.journal.run_view(run.run_id)["decisions"] if offer["allowed"]}
    assert allowed == {"resume", "stop"}
    assert world.decide(held, Choice.RESUME).state is RunState.QUEUED


def test_in_mode_ask_an_unknown_call_is_asked_about_in_the_same_hold(world: World) -> None:
    run = admitted(world, on_restart="ask")
    call = world.opened(run, tool(1))

    plan = restarted(world, run)
    held = world.journal.settle(run.run_id, plan.hold).result()

    assert held.hold is not None
    assert held.hold.reason is HoldReason.ASK
    assert not world.offered(held, Choice.RESUME)["allowed"]
    after = world.decide(held, Choice.CONFIRMED_COMPLETED, call)
    assert after.state is RunState.QUEUED
    assert isinstance(world.begin(world.claim(after), tool(1)), Serve)


def test_in_mode_ask_a_cut_off_model_call_is_granted_in_the_same_hold(world: World) -> None:
    run = admitted(world, on_restart="ask")
    call = world.opened(run, model(1))

    plan = restarted(world, run)
    held = world.journal.settle(run.run_id, plan.hold).result()

    assert held.hold is not None
    assert held.hold.reason is HoldReason.ASK
    assert world.offered(held, Choice.RESUME)["reason"] == "The model call was cut off. Allow another attempt instead."
    after = world.journal.grant(run.run_id, held.version, call.call_id, 1, "r1", OWNER).result()
    assert after.state is RunState.QUEUED
    assert isinstance(world.begin(world.claim(after), model(1)), Proceed)


@pytest.mark.parametrize("chosen", ["ask", "off"])
def test_a_run_that_a_person_let_go_on_is_not_asked_about_or_ended_again(world: World, chosen: str) -> None:
    run = admitted(world, on_restart=chosen)
    held = world.journal.hold_run(run.run_id, HoldReason.ASK).result()
    world.decide(held, Choice.RESUME)

    assert restarted(world, run) == Restart()


def test_a_run_that_went_on_is_asked_about_again_after_the_next_restart(world: World) -> None:
    run = admitted(world, on_restart="ask")
    world.decide(world.journal.hold_run(run.run_id, HoldReason.ASK).result(), Choice.RESUME)
    world.claim(world.journal.run(run.run_id))

    plan = restarted(world, run)

    assert plan.hold is not None
    assert plan.hold.reason is HoldReason.ASK


@pytest.mark.parametrize("key", [model(1), tool(1)])
def test_in_mode_off_a_restart_ends_the_run_whatever_is_open(world: World, key: Any) -> None:
    run = admitted(world, on_restart="off")
    world.opened(run, key)

    assert restarted(world, run) == Restart(ends=True)


def test_what_needs_a_hidden_value_keeps_its_own_reason_in_mode_ask(world: World) -> None:
    world.hide("TOKEN", "a-long-token")
    run = admitted(world, on_restart="ask")
    world.opened(run, tool(1), arguments={"code": "curl a-long-token"})

    plan = restarted(world, run)

    assert plan.hold is not None
    assert plan.hold.reason is HoldReason.MASKED_VALUE_LOST


# -- report -------------------------------------------------------------------------------------


def test_in_mode_report_the_model_is_told_and_the_run_goes_on(world: World) -> None:
    run = admitted(world, interrupted_tool_call="report")
    world.opened(run, tool(1))

    step = world.begin(goes_on(world, run), tool(1))

    assert isinstance(step, Serve)
    assert (step.call.outcome, step.call.value, step.call.attempts) == (Outcome.UNKNOWN, {"text": REPORTED}, 1)
    view = world.journal.run_view(run.run_id)["calls"][0]
    assert (view["status"], view["text"]) == ("unknown", "It may have happened. The model was told so.")


def test_a_report_is_given_again_after_a_further_restart(world: World) -> None:
    run = admitted(world, interrupted_tool_call="report")
    world.opened(run, tool(1))
    world.begin(goes_on(world, run), tool(1))

    step = world.begin(goes_on(world, run), tool(1))

    assert isinstance(step, Serve)
    assert step.call.value == {"text": REPORTED}


def test_what_is_on_the_list_runs_again_and_is_not_reported(world: World) -> None:
    run = admitted(world, interrupted_tool_call="report")
    world.opened(run, tool(1), permission=ALLOWED)

    step = world.begin(goes_on(world, run, ALLOWED), tool(1), permission=ALLOWED)

    assert isinstance(step, Proceed)
    assert step.replayed


def test_a_call_whose_arguments_lost_a_secret_is_reported_since_it_does_not_run_again(world: World) -> None:
    world.hide("TOKEN", "a-long-token")
    run = admitted(world, interrupted_tool_call="report")
    world.opened(run, tool(1), arguments={"code": "curl a-long-token"})

    assert isinstance(world.begin(goes_on(world, run), tool(1), arguments={"code": "curl a-long-token"}), Serve)


def test_a_delivery_is_never_reported(world: World) -> None:
    run = admitted(world, interrupted_tool_call="report")
    world.opened(run, CallKey("A0", 1, CallKind.DELIVERY, 0))

    plan = restarted(world, run)

    assert plan.hold is not None
    assert plan.hold.reason is HoldReason.OUTCOME_UNKNOWN


# -- retry --------------------------------------------------------------------------------------


def test_in_mode_retry_a_cut_off_model_call_is_asked_once_more_by_itself(world: World) -> None:
    run = admitted(world, interrupted_model_call="retry")
    world.opened(run, model(1), extra=NO_HOSTED)

    step = world.begin(goes_on(world, run), model(1), extra=NO_HOSTED)

    assert isinstance(step, Proceed)
    assert (step.replayed, step.call.attempts, step.call.allowance) == (True, 2, 0)
    recorded = world.journal.run_view(run.run_id)["recorded"]
    assert [(row["id"], row["attempts"], row["origin"]) for row in recorded] == [("grant", 1, "interrupted_model_call: retry")]


def test_a_run_that_was_retried_went_on_without_a_person(world: World) -> None:
    run = admitted(world, interrupted_model_call="retry")
    world.opened(run, model(1), extra=NO_HOSTED)
    world.begin(goes_on(world, run), model(1), extra=NO_HOSTED)

    assert world.journal.counts()["resumed"] == 1


def test_cut_off_again_it_waits_for_a_person(world: World) -> None:
    run = admitted(world, interrupted_model_call="retry")
    world.opened(run, model(1), extra=NO_HOSTED)
    world.begin(goes_on(world, run), model(1), extra=NO_HOSTED)

    plan = restarted(world, run)

    assert plan.hold is not None
    assert plan.hold.reason is HoldReason.MODEL_INTERRUPTED


@pytest.mark.parametrize("extra", [None, {HOSTED_TOOLS: True}, {HOSTED_TOOLS: None}], ids=["not known", "offered", "in doubt"])
def test_a_call_that_may_have_had_tools_of_the_provider_waits_for_a_person(world: World, extra: Any) -> None:
    run = admitted(world, interrupted_model_call="retry")
    world.opened(run, model(1), extra=extra)

    plan = restarted(world, run)

    assert plan.hold is not None
    assert plan.hold.reason is HoldReason.MODEL_INTERRUPTED


def test_a_grant_of_a_person_comes_before_the_one_by_policy(world: World) -> None:
    run = admitted(world, interrupted_model_call="retry")
    call = world.opened(run, model(1))
    plan = restarted(world, run)
    held = world.journal.settle(run.run_id, plan.hold).result()
    world.journal.grant(run.run_id, held.version, call.call_id, 2, "r1", OWNER).result()

    step = world.begin(goes_on(world, run), model(1))

    assert isinstance(step, Proceed)
    assert (step.call.attempts, step.call.allowance) == (2, 1)
