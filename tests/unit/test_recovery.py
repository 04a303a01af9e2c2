"""After a restart: what is saved is served, what is allowed runs again, everything else waits for a person."""

from __future__ import annotations

import pytest

from journal.errors import CheckpointCorrupt, KeyReused, NotRunning
from journal.records import Choice, Held, HoldReason, Outcome, Permission, Proceed, RunState, Serve
from tests.store.worlds import ALLOWED, NOTHING, World, model, tool


def test_a_saved_result_is_served_and_nothing_runs(world: World) -> None:
    run = world.admit()
    world.done(run, model(1), {"response": "hi"})
    world.restart()
    claim = world.claim(world.recover(run))

    step = world.begin(claim, model(1))

    assert isinstance(step, Serve)
    assert step.call.value == {"response": "hi"}
    assert step.call.attempts == 1


@pytest.mark.parametrize("outcome", Outcome, ids=lambda outcome: outcome.value)
def test_every_outcome_is_served_as_it_was(world: World, outcome: Outcome) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.journal.finish_call(call.call_id, outcome, "v", error="e", extra={"heading": "h"}).result()
    world.restart()

    step = world.begin(world.claim(world.recover(run)), tool(1))

    assert isinstance(step, Serve)
    assert (step.call.outcome, step.call.value, step.call.error, step.call.extra) == (outcome, "v", "e", {"heading": "h"})


def test_a_changed_source_does_not_stop_a_saved_result_from_being_served(world: World) -> None:
    run = world.admit()
    world.done(run, tool(1), permission=ALLOWED)
    world.restart()

    assert isinstance(world.begin(world.claim(world.recover(run)), tool(1), permission=Permission("response", "0" * 64)), Serve)


def test_an_open_tool_call_is_held_by_the_scan(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    call = world.opened(run, tool(1))
    world.restart()

    after = world.recover(run)

    assert after.state is RunState.HELD
    assert after.hold is not None
    assert (after.hold.reason, after.hold.call_id) == (HoldReason.OUTCOME_UNKNOWN, call.call_id)


def test_an_open_model_call_is_held_by_the_scan(world: World) -> None:
    run = world.admit()
    call = world.opened(run, model(1))
    world.restart()

    after = world.recover(run)

    assert after.hold is not None
    assert (after.hold.reason, after.hold.call_id) == (HoldReason.MODEL_INTERRUPTED, call.call_id)


@pytest.mark.parametrize("key", [model(1), tool(1)], ids=["model", "tool"])
def test_the_resume_holds_what_the_scan_would_hold(world: World, key) -> None:  # type: ignore[no-untyped-def]
    run = world.admit()
    world.opened(run, key)
    world.restart()
    scan = world.journal.classify(run.run_id, lambda call: NOTHING)
    assert scan is not None
    claim = world.claim(world.journal.settle(run.run_id, None).result())

    step = world.begin(claim, key)

    assert isinstance(step, Held)
    assert (step.hold.reason, step.hold.call_id) == (scan.reason, scan.call_id)
    assert world.journal.run(run.run_id).state is RunState.HELD


def test_what_is_on_the_allowlist_with_the_same_source_runs_again_by_itself(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1), permission=ALLOWED, extra={"until": 9})
    world.restart()
    after = world.recover(run, ALLOWED)
    assert after.state is RunState.QUEUED

    step = world.begin(world.claim(after), tool(1), permission=ALLOWED)

    assert isinstance(step, Proceed)
    assert (step.replayed, step.call.call_id, step.call.attempts, step.call.extra) == (True, call.call_id, 2, {"until": 9})


def test_another_source_holds_it(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1), permission=ALLOWED)
    world.restart()
    other = Permission("response", "0" * 64)

    after = world.recover(run, other)

    assert after.hold is not None
    assert after.hold.reason is HoldReason.OUTCOME_UNKNOWN


def test_submitting_a_second_attempt_again_is_the_same_attempt(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1), permission=ALLOWED)
    world.restart()
    claim = world.claim(world.recover(run, ALLOWED))

    first = world.begin(claim, tool(1), permission=ALLOWED)
    again = world.begin(claim, tool(1), permission=ALLOWED)

    assert again == first
    assert first.call.attempts == 2


def test_another_identity_at_a_recorded_place_is_diverged_with_both_sides(world: World) -> None:
    run = world.admit()
    call = world.done(run, tool(1), arguments={"code": "git push"})
    world.restart()

    step = world.begin(world.claim(world.recover(run)), tool(1), arguments={"code": "git push --force"})

    assert isinstance(step, Held)
    assert (step.hold.reason, step.hold.call_id) == (HoldReason.DIVERGED, call.call_id)
    assert step.hold.facts["recorded"]["arguments"] == {"code": "git push"}
    assert step.hold.facts["now"]["arguments"] == {"code": "git push --force"}


def test_above_the_cursor_the_run_is_live(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    world.restart()
    claim = world.claim(world.recover(run))
    world.begin(claim, model(1))

    assert isinstance(world.begin(claim, tool(1)), Proceed)
    world.journal.finish_call(world.journal.calls(run.run_id)[-1].call_id, Outcome.OK, "x").result()
    with pytest.raises(KeyReused):
        world.begin(claim, tool(1))


def test_a_held_call_asked_again_gives_the_same_hold(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1))
    world.restart()
    claim = world.claim(world.journal.settle(run.run_id, None).result())
    first = world.begin(claim, tool(1))

    again = world.begin(claim, tool(1))

    assert again.hold == first.hold
    assert world.journal.run(run.run_id).version == first.run.version


def test_a_call_whose_arguments_lost_a_secret_is_never_dispatched_again(world: World) -> None:
    world.hide("TOKEN", "a-long-token")
    run = world.admit()
    world.done(run, model(1))
    call = world.opened(run, tool(1), arguments={"code": "curl a-long-token"}, permission=ALLOWED)
    assert call.lossy
    world.restart()

    after = world.recover(run, ALLOWED)

    assert after.hold is not None
    assert after.hold.reason is HoldReason.MASKED_VALUE_LOST


def test_a_placeholder_of_the_host_is_no_loss(world: World) -> None:
    world.hide("TOKEN", "a-long-token", "§§secret(TOKEN)")
    run = world.admit()
    call = world.opened(run, tool(1), arguments={"code": "curl a-long-token"}, permission=ALLOWED)

    assert (call.lossy, call.arguments) == (False, {"code": "curl §§secret(TOKEN)"})


def test_a_step_is_the_same_step_however_its_secret_is_written(world: World) -> None:
    """Identity is made of what is stored, which has no secret: after a restart the host may not have filled it in yet."""
    world.hide("TOKEN", "a-long-token", "§§secret(TOKEN)")
    run = world.admit()
    world.done(run, tool(1), arguments={"code": "curl a-long-token"})
    world.restart()

    step = world.begin(world.claim(world.recover(run)), tool(1), arguments={"code": "curl §§secret(TOKEN)"})

    assert isinstance(step, Serve)


def test_a_call_asked_for_by_an_answer_that_lost_a_secret_is_not_begun(world: World) -> None:
    """The model's saved answer says [hidden:TOKEN] where it had said the token: that is not what it asked for."""
    world.hide("TOKEN", "a-long-token")
    run = world.admit()
    answer = world.done(run, model(1), {"response": "curl a-long-token"})
    assert answer.value_lossy
    world.restart()
    claim = world.claim(world.recover(run))
    served = world.begin(claim, model(1)).call.value["response"]

    step = world.begin(claim, tool(1), arguments={"code": served})

    assert isinstance(step, Held)
    assert step.hold.reason is HoldReason.MASKED_VALUE_LOST
    (_, withheld) = world.journal.calls(run.run_id)
    assert (withheld.attempts, withheld.lossy) == (0, True)


def test_asking_the_model_again_gives_the_step_a_fresh_start(world: World) -> None:
    world.hide("TOKEN", "a-long-token")
    run = world.admit()
    world.done(run, model(1), {"response": "curl a-long-token"})
    world.opened(run, tool(1), arguments={"code": "curl a-long-token"})
    world.restart()
    held = world.recover(run)
    assert held.hold is not None

    claim = world.claim(world.decide(held, Choice.NEW_ATTEMPT, held.hold.call_id))

    fresh = world.begin(claim, model(1))
    assert isinstance(fresh, Proceed)
    assert fresh.call.attempts == 1
    assert isinstance(world.begin(claim, tool(1), arguments={"code": "curl a-long-token"}), Proceed)
    assert [call.abandoned for call in world.journal.calls(run.run_id)] == [True, True, False, False]


def test_an_attempt_to_recover_is_counted_before_it_is_made_and_the_fourth_is_a_hold(world: World) -> None:
    run = world.admit()
    counted = []
    for _ in range(3):
        world.restart()
        counted.append(world.journal.begin_recovery(run.run_id).result().recoveries)
    world.restart()

    after = world.journal.begin_recovery(run.run_id).result()

    assert counted == [1, 2, 3]
    assert after.state is RunState.HELD
    assert after.hold is not None
    assert after.hold.reason is HoldReason.CRASH_LOOP
    assert world.journal.begin_recovery(run.run_id).result() == after


def test_only_something_new_is_progress(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    for _ in range(2):
        world.restart()
        claim = world.claim(world.recover(run))
        world.begin(claim, model(1))
        world.journal.checkpoint(run.run_id, claim.token, world.point({"A0": 1}), []).result()
    assert world.journal.run(run.run_id).recoveries == 2

    world.begin(claim, tool(1))

    assert world.journal.run(run.run_id).recoveries == 0


def test_a_rebuild_that_ended_in_a_hold_is_no_crash(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1))

    for _ in range(5):
        world.restart()
        after = world.recover(run)

    assert after.hold is not None
    assert after.hold.reason is HoldReason.OUTCOME_UNKNOWN


def test_a_held_run_survives_restarts_with_its_hold(world: World) -> None:
    run = world.admit()
    world.journal.hold_run(run.run_id, HoldReason.CHAT_MOVED_ON, text="It moved.", facts={"file": 3}).result()
    before = world.journal.run(run.run_id)

    world.restart()

    assert world.journal.unfinished() == [before]
    assert before.hold is not None
    assert (before.hold.text, before.hold.facts) == ("It moved.", {"file": 3})


def test_ending_the_task_with_an_open_tool_call_holds_the_run(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    call = world.opened(run, tool(1))

    after = world.journal.interrupt_run(run.run_id, "nudge").result()

    assert after.state is RunState.HELD
    assert after.hold is not None
    assert (after.hold.reason, after.hold.call_id) == (HoldReason.OUTCOME_UNKNOWN, call.call_id)
    with pytest.raises(NotRunning):
        world.journal.checkpoint(run.run_id, run.token, world.point(), []).result()


def test_ending_the_task_with_an_open_model_call_supersedes_it(world: World) -> None:
    run = world.admit()
    world.opened(run, model(1))

    after = world.journal.interrupt_run(run.run_id, "nudge").result()

    assert (after.state, after.token) == (RunState.RUNNING, 2)
    assert [call.outcome for call in world.journal.calls(run.run_id)] == [Outcome.SUPERSEDED]


def test_the_newest_checkpoint_is_the_one_to_resume_from(world: World) -> None:
    run = world.admit()
    for step in (1, 2, 3):
        world.journal.checkpoint(run.run_id, run.token, world.point({"A0": step}, ("hello", f"step {step}")), []).result()

    loaded = world.journal.resume_point(run.run_id)

    history = loaded.tree.list(loaded.tree.value(loaded.root)["history"])
    assert loaded.position == {"A0": 3}
    assert [loaded.tree.value(each) for each in history] == ["hello", "step 3"]
    assert world.journal.run(run.run_id).checkpoint_seq == loaded.seq


def test_a_checkpoint_without_its_root_is_refused(world: World) -> None:
    run = world.admit()
    point = world.point({"A0": 1}, ("never stored",))

    with pytest.raises(CheckpointCorrupt):
        world.journal.checkpoint(run.run_id, run.token, type(point)(point.root, {}, {"A0": 1}), []).result()

    assert world.journal.resume_point(run.run_id).position == {"A0": 0}
