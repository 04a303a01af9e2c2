"""Bounded permission to ask a model again, after a call of it was cut off. Used up before each attempt."""

from __future__ import annotations

from . import calls, codec, runs
from .decisions import check_version, is_repeated
from .errors import NotAllowed, RunEnded, UnknownCall
from .ids import CallId, RunId
from .records import Call, HoldReason, Run, RunState
from .runs import Scribe

MOST_ATTEMPTS = 3


def grantable(run: Run, call: Call) -> bool:
    """Whether this call is a cut-off model call that the run is held for."""
    held = run.hold is not None and run.hold.reason is HoldReason.MODEL_INTERRUPTED and not run.damaged
    return held and call.outcome is None and not call.abandoned and call.allowance == 0 and call.key.kind.is_inference


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
    scribe.tx.change(
        "add_grant",
        request_id=request_id,
        run_id=run_id,
        call_id=call_id,
        attempts=attempts,
        origin=origin,
        request=request,
        version=after.version,
        seq=seq,
        now=scribe.now,
    )
    return after
