"""One round of upkeep: old runs, then superseded checkpoints, then what nothing names. Or only what that would be.

Runs in a thread of the caller, in small transactions; it may be stopped between any two and begun again.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from . import backup, collection, retention
from .collection import Desk, Interrupted, Removed
from .errors import Conflict, StoreLocked
from .ids import RunId
from .retention import KEEP_POINTS, Policy
from .store.base import Reader


def plan(desk: Desk, policy: Policy) -> Removed:
    """What a round would remove now. Writes nothing; `bytes` counts bodies, nodes and files, not the rows around them."""
    would = Removed()
    try:
        gone = _due(desk, policy)
        members = {member for run_id in gone for member in desk.read(partial(retention.family, run_id=run_id))}
        would.runs = len(gone)
        would.checkpoints = desk.read(lambda tx: _superseded(tx, members))
        garbage = collection.look(desk, members)
    except Interrupted:
        would.complete = False
        return would
    would.bodies, would.nodes, would.problem = len(garbage.bodies), len(garbage.nodes), garbage.problem
    for row in (*garbage.bodies, *garbage.nodes):
        file = desk.files.of(row["digest"]) if row["is_file"] else None
        would.files += int(file is not None)
        would.bytes += row["size"] + (file.size if file else 0)
    return would


def prune(desk: Desk, policy: Policy) -> Removed:
    """Remove what the policy lets go. What it could not remove it says in `problem`; errors of the store are raised."""
    removed = Removed()
    try:
        for run_id in _due(desk, policy):
            _remove(desk, removed, run_id, policy)
        for row in desk.read(lambda tx: tx.all("many_checkpoints", keep_unfinished=KEEP_POINTS)):
            _thin(desk, removed, row["run_id"])
        _sweep(desk, removed)
    except Interrupted:
        removed.complete = False
    return removed


def _sweep(desk: Desk, removed: Removed) -> None:
    """Not beside a backup, of this process or another: it copies the files after the database that names them."""
    with ExitStack() as stack:
        try:
            stack.enter_context(backup.alone(desk.files.folder.parent))
        except StoreLocked:
            removed.problem = removed.problem or "A backup is being made, so what nothing names any more was left for another time."
            removed.complete = False
            return
        collection.sweep(desk, removed)


def _due(desk: Desk, policy: Policy) -> list[RunId]:
    return [run.run_id for run in desk.read(lambda tx: retention.due(retention.finished(tx), policy, desk.now()))]


def _superseded(tx: Reader, gone: set[RunId]) -> int:
    rows = tx.all("many_checkpoints", keep_unfinished=KEEP_POINTS)
    return sum(row["extra"] for row in rows if row["run_id"] not in gone)


def _remove(desk: Desk, removed: Removed, run_id: RunId, policy: Policy) -> None:
    while True:
        desk.breathe()
        try:
            gone = desk.write(lambda scribe: retention.remove_some(scribe, run_id, policy)).result()
        except Conflict as refusal:  # a record of another edition refers to it
            removed.problem = removed.problem or f"The run {run_id} was left: {refusal}"
            return
        if gone is None:
            return
        if gone < retention.ROWS_AT_ONCE:
            removed.runs += 1
            return


def _thin(desk: Desk, removed: Removed, run_id: RunId) -> None:
    while True:
        desk.breathe()
        gone = desk.write(lambda scribe: retention.thin_some(scribe, run_id)).result()
        removed.checkpoints += gone
        if gone < retention.ROWS_AT_ONCE:
            return
