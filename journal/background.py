"""Background inference of a run: naming, memory, compression. A key space of its own, beside the steps.

A call here never holds its run and never counts as a step or as progress. The same purpose, or the same question, is not
paid for twice over a crash; what was cut off is dropped, with a note. Every one is an inference and changes nothing outside.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from . import calls, codec
from .calls import Intent, Result
from .errors import UnknownRun
from .ids import CallId, RunId
from .records import Call, CallKey, CallKind, Dropped, Outcome, Proceed, RunState, Serve
from .scribe import Scribe

_LETS_BEGIN = (RunState.RUNNING, RunState.HELD, RunState.COMPLETED, RunState.FAILED)
"""Work that was begun goes on while its run waits for a person, and after its end; after a Stop nothing begins."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What is asked, and how often: `once` for an agent path of a run, or as often as it is asked something else.

    With a `step`, once for that step. A purpose that acts on its answer is not `served`: acting twice would be worse than not at all.
    """

    name: str
    once: bool = False
    path: str = ""
    step: int = 0
    served: bool = True

    def key(self, about: str, ordinal: int) -> CallKey:
        """`about` tells questions of one purpose apart; it is left out where there is one answer."""
        return CallKey(f"~{self.name}~{self.path if self.once else about[:16]}", self.step, CallKind.UTILITY, ordinal)


def begin(scribe: Scribe, run_id: RunId, intent: Intent, purpose: Purpose) -> Proceed | Serve | Dropped:
    """Record an intent, or find the answer of an earlier life. Dropped: nothing is asked, or nothing is recorded of it."""
    run = scribe.tx.one("run_fence", run_id=run_id)
    if run is None:
        raise UnknownRun(run_id)
    if RunState(run["state"]) not in _LETS_BEGIN:
        return Dropped()
    for ordinal in itertools.count(intent.key.ordinal):
        key = replace(intent.key, ordinal=ordinal)
        known = calls.at_key(scribe.tx, run_id, key)
        if known is None:
            call = calls.begin(scribe, run_id, run["token"], replace(intent, key=key), event="background_begun")
            scribe.begun.pop(call.call_id, None)
            return Proceed(call)
        if known.outcome is Outcome.OK and purpose.served:
            return Serve(calls.serve(scribe, known, event="background_served"))
        if known.outcome is None and known.boot_id != scribe.boot_id:
            _drop(scribe, known)
        if purpose.once:
            return Dropped()
    raise AssertionError("unreachable")


def finish(scribe: Scribe, call_id: CallId, result: Result) -> Call:
    """Write the answer, whatever became of the run meanwhile. The first one wins (I2)."""
    call = calls.load_call(scribe.tx, call_id)
    if call.outcome is None and not call.abandoned:
        calls.record(scribe, call, result)
    elif call.result_digest != result.digest:
        calls.keep_beside(scribe, call, "late_result", result)
    return calls.load_call(scribe.tx, call_id)


def drop_cut_off(scribe: Scribe, run_id: RunId) -> None:
    """Close what an earlier process had begun: it is not asked again for its own sake."""
    for row in scribe.tx.all("cut_off_background", run_id=run_id, boot_id=scribe.boot_id):
        _drop(scribe, calls.from_row(row))


def _drop(scribe: Scribe, call: Call) -> None:
    calls.record(scribe, call, Result(Outcome.INTERRUPTED, codec.body(None), False, ""))
