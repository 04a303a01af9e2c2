"""How a run went, for a person: what became of each call, how long it took, where processes ended and the run went on.

Reads only, decides nothing. The words stand in the page; here stand the facts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from .evidence import FROM_CHECK
from .ids import CallId, RunId
from .records import Call, Outcome, Run, RunState
from .store.base import Reader, Row

_AS_RECORDED = {
    Outcome.UNKNOWN: "unknown",
    Outcome.INTERRUPTED: "interrupted",
    Outcome.SUPERSEDED: "superseded",
    Outcome.CONFIRMED: "confirmed",
}


def marks(call: Call, run: Run, boot_id: str, asked: Collection[CallId], *, waits: bool = False) -> list[str]:
    """What became of this call: how it came to its record first, then what happened to the record.

    `waits`: what it started has records of its own, and has not ended.
    """
    first = "running" if waits and call.outcome is None else _mark(call, run, boot_id, asked)
    return [first, *(["reused"] if call.served else []), *(["late"] if call.late_results else [])]


def _mark(call: Call, run: Run, boot_id: str, asked: Collection[CallId]) -> str:
    if call.abandoned:
        return "set_aside"
    cut_off = run.hold is not None and run.hold.call_id == call.call_id and call.outcome is None and not call.allowance
    if call.call_id in asked or cut_off:
        return "held"
    if call.outcome is None:
        runs_now = run.state is RunState.RUNNING and (call.token, call.boot_id) == (run.token, boot_id)
        return "running" if runs_now else "unknown"
    if call.outcome in _AS_RECORDED:
        return _AS_RECORDED[call.outcome]
    if call.extra.get(FROM_CHECK):
        return "reconciled"
    return "replayed" if call.attempts > 1 else "executed"


def took(outcome: Outcome | None, started_at: int, ended_at: int | None) -> int | None:
    """Milliseconds from the intent of the last attempt to its result; a person's word took none."""
    return None if ended_at is None or outcome is Outcome.CONFIRMED else max(0, ended_at - started_at)


def breaks(tx: Reader, run_id: RunId, all_calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Where a process ended while this run was unfinished. Ends with no step between them are one entry.

    `after` is the number of the last call begun before it; `ended_at` is known only where the process said good-bye,
    else `seen_at` is the last sign of it; `resumed_at` is null while the run has not gone on.
    """
    lives = tx.all("lives_of_run", run_id=run_id)
    found: list[dict[str, Any]] = []
    for life, following in pairwise(lives):
        after = sum(1 for call in all_calls if call.seq <= life["last_seq"])
        if found and found[-1]["after"] == after and found[-1]["resumed_at"] is None:
            found[-1] = {**found[-1], "ends": found[-1]["ends"] + 1, **_came_back(following)}
        else:
            found.append({"after": after, "ends": 1, "seen_at": life["last_at"], "ended_at": life["ended_at"], **_came_back(following)})
    return found


def _came_back(life: Row) -> dict[str, Any]:
    return {"back_at": life["started_at"], "resumed_at": life["claimed_at"]}
