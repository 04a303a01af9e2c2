"""Bounded permission to ask a model again, after a call of it was cut off. Used up before each attempt."""

from __future__ import annotations

from . import calls, codec, runs
from .decisions import check_version, is_cut_off, is_repeated
from .errors import NotAllowed, RunEnded, UnknownCall
from .ids import CallId, RunId, named
from .records import Call, Run, RunState
from .scribe import Scribe

MOST_ATTEMPTS = 3
POLICY = "interrupted_model_call: retry"
"""Where a grant comes from that no person gave."""


def grantable(run: Run, call: Call) -> bool:
    """Whether this call is a cut-off model call that the run is held for."""
    return run.hold is not None and not run.damaged and is_cut_off(call, run.hold)


def by_policy(scribe: Scribe, call: Call, origin: str = POLICY) -> Call:
    """Allow one more attempt, since the run's mode says so or we cut it off; it stands in the record as any other grant."""
    calls.allow(scribe, call, 1)
    run = runs.load(scribe.tx, call.run_id)
    request_id = named(call.call_id, origin, str(call.attempts))
    seq = scribe.event("granted", run.run_id, call_id=call.call_id, version=run.version, attempts=1)
    _keep(scribe, run, call.call_id, 1, request_id=request_id, request=request_id, origin=origin, seq=seq)
    return calls.load_call(scribe.tx, call.call_id)


def grant(scribe: Scribe, run_id: RunId, version: int, call_id: CallId, attempts: int, request_id: str, origin: str) -> Run:
    """Allow one to three attempts; the run goes on. The same request twice is one grant."""
    run = runs.load_any(scribe.tx, run_id)
    request = codec.digest(codec.encode([run_id, call_id, attempts]))
    if is_repeated(scribe, request_id, request):
        return run
    if run.state.is_final:
        raise RunEnded(run)
    call = calls.load_call(scribe.tx, call_id)
    if call.run_id != run_id:
        raise UnknownCall(call_id)
    check_version(scribe, run, version, call_id, origin)
    if not 1 <= attempts <= MOST_ATTEMPTS:
        raise NotAllowed(f"One to {MOST_ATTEMPTS} attempts can be allowed at once.")
    if not grantable(run, call):
        raise NotAllowed("Only a model call that was cut off, and that the run is on hold for, can be allowed again.")
    calls.allow(scribe, call, attempts)
    after = runs.move(scribe, run, RunState.QUEUED, "run_released", recoveries=0)
    seq = scribe.event("granted", run_id, call_id=call_id, version=after.version, attempts=attempts)
    _keep(scribe, after, call_id, attempts, request_id=request_id, request=request, origin=origin, seq=seq)
    return after


def _keep(scribe: Scribe, run: Run, call_id: CallId, attempts: int, **words: str | int) -> None:
    row = {"run_id": run.run_id, "call_id": call_id, "attempts": attempts, "version": run.version, "now": scribe.now}
    scribe.tx.change("add_grant", **row, **words)
