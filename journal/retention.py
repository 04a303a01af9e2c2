"""What is kept and what goes: finished runs that are old and many, and superseded checkpoints.

The rule is a pure function. Removal takes a run in small transactions; each asks the rule again, and the run's own row
goes last, together with the tombstone that keeps its message a repeat. Never removed: what is unfinished, a chat's
newest run, and what still has messages to give or stands in a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .ids import RunId
from .records import HoldReason, RunState
from .scribe import Scribe
from .store.base import Reader, Row

KEEP_POINTS = 5
"""Checkpoints of an unfinished run: the newest, from which it goes on, and a few loop steps before it, so that a
person who finds the newest state unusable can choose an earlier one. More would only be older."""

ROWS_AT_ONCE = 400
"""So many rows go in one transaction; a chat that writes meanwhile waits for no more than that."""

_DAY_MS = 86_400_000


KEEPS_ALL = frozenset({HoldReason.CHECKPOINT_CORRUPT.value, HoldReason.RESTORED.value})
"""Of a run whose state cannot be read, an older checkpoint may be all that is left. A restore holds a run whatever was before."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A finished run goes when it is neither among the newest `runs` nor younger than `days`."""

    runs: int = 100
    days: int = 30


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished root run, as the rule sees it."""

    run_id: RunId
    ended_at: int
    is_head: bool = False
    has_messages: bool = False
    in_conflict: bool = False

    @property
    def must_stay(self) -> bool:
        return self.is_head or self.has_messages or self.in_conflict


def due(finished: Iterable[Finished], policy: Policy, now: int) -> list[Finished]:
    """What goes, the oldest first."""
    newest = sorted(finished, key=lambda run: (run.ended_at, run.run_id), reverse=True)
    return [run for run in reversed(newest[policy.runs :]) if is_due(run, policy, now)]


def is_due(run: Finished, policy: Policy, now: int) -> bool:
    """Whether age and bonds let it go; its rank only sinks, so it is not asked again."""
    return run.ended_at < now - policy.days * _DAY_MS and not run.must_stay


def finished(tx: Reader) -> list[Finished]:
    return [_from_row(row) for row in tx.all("finished_roots")]


def _from_row(row: Row) -> Finished:
    is_head = row["head"] == row["run_id"]
    return Finished(row["run_id"], row["ended_at"], is_head, bool(row["has_messages"]), bool(row["in_conflict"]))


def family(tx: Reader, run_id: RunId) -> list[RunId]:
    """The run and all runs below it, the deepest first; nothing if one of them has not ended or has messages to give."""
    rows = tx.all("family", run_id=run_id)
    free = all(RunState(row["state"]).is_final and not row["has_messages"] for row in rows)
    return [row["run_id"] for row in rows] if free else []


# -- removing -----------------------------------------------------------------------------------


def remove_some(scribe: Scribe, run_id: RunId, policy: Policy) -> int | None:
    """Remove a part of a run, `ROWS_AT_ONCE` at most; answers how many, fewer when it is gone. None: it has to stay."""
    facts = scribe.tx.one("finished_root", run_id=run_id)
    members = family(scribe.tx, run_id)
    if facts is None or not members or not is_due(_from_row(facts), policy, scribe.now):
        return None
    # told to the chat's newest run, which stays: the head of the journal never falls, also when the newest event goes
    scribe.event("older_run_removed", facts["head"], run=run_id)
    gone = 0
    for member in members:
        gone += _remove_rows(scribe, member, ROWS_AT_ONCE - gone)
        if gone >= ROWS_AT_ONCE:
            return ROWS_AT_ONCE
        scribe.tx.change("bury_messages", run_id=member, now=scribe.now)
        gone += scribe.tx.change("drop_messages", run_id=member)
        scribe.tx.change("bury_run", run_id=member, now=scribe.now)
        gone += scribe.tx.change("drop_run", run_id=member)
    return min(gone, ROWS_AT_ONCE - 1)


def _remove_rows(scribe: Scribe, run_id: RunId, most: int) -> int:
    tx, gone = scribe.tx, 0
    gone += tx.change("drop_selections", run_id=run_id, most=most)
    gone += tx.change("drop_decisions", run_id=run_id, most=most - gone)
    gone += tx.change("drop_grants", run_id=run_id, most=most - gone)
    gone += tx.change("drop_evidence", run_id=run_id, most=most - gone)
    gone += tx.change("drop_attempts", run_id=run_id, most=most - gone)
    gone += tx.change("drop_checkpoints", run_id=run_id, most=most - gone)
    gone += tx.change("drop_events", run_id=run_id, most=most - gone)
    if gone < most:
        tx.change("forget_hold", run_id=run_id)
        gone += tx.change("drop_calls", run_id=run_id, most=most - gone)
    return gone


def thin_some(scribe: Scribe, run_id: RunId) -> int:
    """Remove superseded checkpoints of a run, at most so many at once; answers how many went."""
    row = scribe.tx.one("run_fence", run_id=run_id)
    if row is None or row["hold_reason"] in KEEPS_ALL:
        return 0
    keep = 1 if RunState(row["state"]).is_final else KEEP_POINTS
    return scribe.tx.change("drop_old_checkpoints", run_id=run_id, keep=keep, most=ROWS_AT_ONCE)
