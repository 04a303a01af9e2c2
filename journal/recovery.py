"""One decision for every step of a run: serve what is recorded, do what is allowed, or hold.

The living run, in every life, and the scan after a restart ask the same planner; so a call begins here, is lost here and is
cut off here, whether or not anything ever crashed. Nothing is started here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from . import attempts, calls, codec, grants, runs
from .calls import Evidence, Intent, Result
from .errors import KeyReused, NotRunning
from .ids import CallId, RunId
from .masking import has_hidden
from .modes import CAREFUL, HOSTED_TOOLS, REPORTED, Mode
from .planner import Next, next_step, without_proof
from .records import Call, CallKind, Held, Hold, HoldReason, Outcome, Permission, Proceed, Run, RunState, Serve, Step
from .replay import Allowlist
from .scribe import Scribe
from .store.base import Reader

MOST_LIVE_ATTEMPTS = 3
"""So often a living step that ends without proof is begun by itself; then a person decides."""

CUT_OFF = "suspended for a restart"
"""Where the permission comes from to ask a model again whose answer we cut off ourselves."""


@dataclass(frozen=True, slots=True)
class Cut:
    """We end the task of a living run, because somebody asked for that."""

    by: str
    patient: bool = True  # a run with an effect under way is left as it is


def begin_call(
    scribe: Scribe, run_id: RunId, token: int, cursor: int, intent: Intent, allowlist: Allowlist, evidence: Evidence | None = None
) -> Step:
    """One transaction decides about one step; a permission is used up in it, before the effect (I1)."""
    entered = _entered(scribe, run_id, token)
    if isinstance(entered, Held):
        return entered
    call = calls.at_key(scribe.tx, run_id, intent.key)
    if call is None:
        return _begin_new(scribe, run_id, token, cursor, intent, entered)
    if call.outcome is None and call.token == token:
        if call.identity != intent.identity:
            raise KeyReused(run_id, intent.key)
        # the same submission again: its answer was lost
        return Proceed(call, replayed=call.attempts > 1, progress=call.seq > cursor)
    if call.seq > cursor:
        raise KeyReused(run_id, intent.key)
    if call.identity != intent.identity:
        return _hold(scribe, call, HoldReason.DIVERGED, recorded=_side(call), now=_side_of(intent))
    mode = Mode.of(runs.mode_of(scribe.tx, run_id)) if call.outcome is None else CAREFUL
    return _go_on(scribe, call, token, intent.permission, allowlist, evidence, mode)


def lose_call(
    scribe: Scribe, run_id: RunId, token: int, call_id: CallId, now: Permission, allowlist: Allowlist, evidence: Evidence | None
) -> Step:
    """A living step ended without proof (I3): what may happen is what might happen after a crash."""
    entered = _entered(scribe, run_id, token)
    if isinstance(entered, Held):
        return entered
    call = calls.load_call(scribe.tx, call_id)
    if call.outcome is None and call.attempts >= MOST_LIVE_ATTEMPTS:
        return _hold(scribe, call, without_proof(call))
    return _go_on(scribe, call, token, now, allowlist, evidence)


def _entered(scribe: Scribe, run_id: RunId, token: int) -> Held | int:
    """How often the run was continued without progress; or its hold, if it waits already: the hold's own answer was
    lost, or a call beside the held one wants to begin.
    """
    try:
        return runs.enter(scribe, run_id, token)
    except NotRunning as refusal:
        run = refusal.run
        if run.hold is None or run.token != token or run.damaged:
            raise
        return Held(run.hold, run)


def _begin_new(scribe: Scribe, run_id: RunId, token: int, cursor: int, intent: Intent, recoveries: int) -> Step:
    if cursor and not intent.key.kind.is_inference and _asks_for_hidden(scribe.tx, run_id, cursor, intent):
        call = calls.begin(scribe, run_id, token, replace(intent, lossy=True), dispatched=False)
        return _hold(scribe, call, HoldReason.MASKED_VALUE_LOST)
    call = calls.begin(scribe, run_id, token, intent)
    if recoveries:
        runs.progressed(scribe, run_id)
    return Proceed(call)


def _asks_for_hidden(tx: Reader, run_id: RunId, cursor: int, intent: Intent) -> bool:
    """A served model answer, from which a secret was hidden for good, asks for a call that needs it."""
    asked_by = tx.one("model_call_of", run_id=run_id, path=intent.key.path, step=intent.key.step)
    served = asked_by is not None and asked_by["seq"] <= cursor and bool(asked_by["value_lossy"])
    return served and has_hidden(intent.arguments.value)


def _go_on(
    scribe: Scribe, call: Call, token: int, now: Permission, allowlist: Allowlist, evidence: Evidence | None, mode: Mode = CAREFUL
) -> Step:
    if evidence is not None and call.outcome is None:
        calls.keep_finding(scribe, call, evidence)
    match next_step(call, now, allowlist, scribe.now, evidence.found if evidence else None, mode):
        case Next.SERVE:
            return Serve(calls.serve(scribe, call))
        case Next.ALLOWED:  # the permission is used up: after another end a person is asked
            runs.progressed(scribe, call.run_id)
            return Proceed(calls.again(scribe, call, token, "allowed"), replayed=True)
        case Next.REPLAY:
            policy = allowlist.get(call.permission.policy or "")
            idle = policy is not None and policy.idle
            if idle:
                runs.progressed(scribe, call.run_id)
            return Proceed(calls.again(scribe, call, token, "replay"), replayed=True, progress=idle)
        case Next.RECONCILE if evidence is not None:
            calls.record(scribe, call, evidence.result)
            return Serve(calls.serve(scribe, calls.load_call(scribe.tx, call.call_id)))
        case Next.REPORT:
            calls.record(scribe, call, Result(Outcome.UNKNOWN, codec.body({"text": REPORTED}), False, ""))
            return Serve(calls.serve(scribe, calls.load_call(scribe.tx, call.call_id)))
        case Next.RETRY:
            runs.progressed(scribe, call.run_id)
            return Proceed(calls.again(scribe, grants.by_policy(scribe, call), token, "allowed"), replayed=True)
        case Next():  # nobody asked the check that it needs
            return _hold(scribe, call, without_proof(call))
        case reason:
            return _hold(scribe, call, reason)


def _hold(scribe: Scribe, call: Call, reason: HoldReason, **facts: object) -> Held:
    run = runs.hold(scribe, call.run_id, Hold(reason, call.call_id, facts=facts))
    assert run.hold is not None
    return Held(run.hold, run)


def _side(call: Call) -> dict[str, object]:
    return {"name": call.name, "arguments": call.arguments}


def _side_of(intent: Intent) -> dict[str, object]:
    return {"name": intent.name, "arguments": intent.arguments.value}


@dataclass(frozen=True, slots=True)
class Restart:
    """What becomes of an unfinished run after a restart: it waits for a person, ends, or goes on."""

    hold: Hold | None = None
    ends: bool = False


def after_restart(tx: Reader, run_id: RunId, permission_now: Callable[[Call], Permission], allowlist: Allowlist, at: int) -> Restart:
    """`classify`, and what was chosen for a restart. A run that a person let go on is not asked about again. Reads only."""
    why = classify(tx, run_id, permission_now, allowlist, at)
    mode = Mode.of(runs.mode_of(tx, run_id))
    if not (mode.asks or mode.ends) or runs.was_released(tx, run_id):
        return Restart(why)
    if mode.ends:
        return Restart(ends=True)
    if why is None or why.reason in (HoldReason.OUTCOME_UNKNOWN, HoldReason.MODEL_INTERRUPTED):
        return Restart(Hold(HoldReason.ASK, why.call_id if why else None))
    return Restart(why)


def classify(tx: Reader, run_id: RunId, permission_now: Callable[[Call], Permission], allowlist: Allowlist, at: int) -> Hold | None:
    """Why this run must wait for a person, or None if it may go on. Reads only."""
    still_open = calls.open_calls(tx, run_id)
    mode = Mode.of(runs.mode_of(tx, run_id)) if still_open else CAREFUL
    for call in still_open:
        reason = next_step(call, permission_now(call), allowlist, at, mode=mode)
        if isinstance(reason, HoldReason):
            return Hold(reason, call.call_id)
    return None


def is_at_work(tx: Reader, run_id: RunId, permission_now: Callable[[Call], Permission], allowlist: Allowlist, at: int) -> bool:
    """Whether an effect of this run is under way that may not simply be repeated, whatever was chosen for a restart. Reads only."""
    effects = [call for call in calls.open_calls(tx, run_id) if not call.key.kind.is_inference]
    return any(isinstance(next_step(call, permission_now(call), allowlist, at), HoldReason) for call in effects)


def suspend(
    scribe: Scribe,
    run_id: RunId,
    token: int,
    permission_now: Callable[[Call], Permission],
    allowlist: Allowlist,
    cut: Cut | None = None,
) -> Run:
    """The task of a living run ended without an end of the run: it is held if that left anything unknown, else it waits its turn.

    With `cut` we end the task ourselves, once the effects that are under way are settled, or with `patient` off.
    """
    run = runs.load(scribe.tx, run_id)
    if run.state is not RunState.RUNNING or run.token != token:
        return run
    if cut is not None:
        if cut.patient and is_at_work(scribe.tx, run_id, permission_now, allowlist, scribe.now):
            return run
        for call in calls.open_calls(scribe.tx, run_id):
            if call.key.kind is CallKind.MODEL and call.allowance == 0 and call.extra.get(HOSTED_TOOLS) is False:
                grants.by_policy(scribe, call, CUT_OFF)
        scribe.event("run_suspended", run_id, by=cut.by)
    return attempts.settle(scribe, run_id, classify(scribe.tx, run_id, permission_now, allowlist, scribe.now))


def close_call(scribe: Scribe, run_id: RunId, token: int, call_id: CallId, result: Result) -> Call:
    """A living run gives one of its calls the result of work that was done in calls of its own.

    Unlike an effect it may have begun under an older token: what it did since is recorded. The first result wins.
    """
    runs.enter(scribe, run_id, token)
    scribe.begun.pop(call_id, None)
    call = calls.load_call(scribe.tx, call_id)
    if call.outcome is None:
        calls.record(scribe, call, result)
    return calls.load_call(scribe.tx, call_id)


def interrupt(scribe: Scribe, run_id: RunId, by: str, allowlist: Allowlist) -> Run:
    """A person ended the task, not the run: an open tool call is unknown and held, an open model call is superseded.

    A call whose work is done in calls of its own stays open: they say how far it came.
    """
    run = runs.load(scribe.tx, run_id)
    if run.state is not RunState.RUNNING:
        return run
    still_open = [call for call in calls.open_calls(scribe.tx, run_id) if not _works_through_others(call, allowlist)]
    effects = [call for call in still_open if not call.key.kind.is_inference]
    if effects:
        why = Hold(HoldReason.OUTCOME_UNKNOWN, effects[0].call_id, facts={"by": by})
        return runs.move(scribe, run, RunState.HELD, "run_held", hold=why, recoveries=0, by=by)
    for call in still_open:
        calls.record(scribe, call, Result(Outcome.SUPERSEDED, codec.body(None), False, ""))
    return runs.move(scribe, run, RunState.RUNNING, "run_interrupted", token=run.token + 1, by=by)


def _works_through_others(call: Call, allowlist: Allowlist) -> bool:
    policy = allowlist.get(call.permission.policy or "")
    return policy is not None and policy.through
