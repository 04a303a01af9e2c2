"""Removes bodies that nothing names and no saved state leads to any more: mark, then sweep in small transactions (I13).

What was named since the collection began is noted by the writer itself and looked up inside the transaction that
removes, so that nothing is removed on an old look. A body that is or was a part of a saved state, a node, goes only
where no state leads to it. If a node that is in use cannot be read, none is removed: what lies below it is not known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from . import codec
from .ids import Digest, RunId
from .pins import Pins
from .retention import KEEP_POINTS
from .scribe import Scribe
from .store.base import Reader, Row
from .store.bodies import Bodies
from .trees import children

SAFE_AGE_MS = 3_600_000
"""A file that no record names may belong to an operation that has yet to begin; one of an hour ago does not."""

_READ_AT_ONCE = 64
_LOOK_AT_ONCE = 500
_MOST_ROWS = 200
_MOST_BYTES = 1024 * 1024
_PAGES_LEFT = 256


class Interrupted(Exception):
    """Somebody asked to stop. What was done stays done; the rest is done another time."""


@dataclass(slots=True)
class Removed:
    """What went, or what would go. A body that is a node counts as one. `problem`: why something was left that might have gone."""

    runs: int = 0
    checkpoints: int = 0
    bodies: int = 0
    nodes: int = 0
    files: int = 0
    bytes: int = 0
    complete: bool = True
    problem: str = ""


class Write(Protocol):
    def __call__(self, operation: Callable[[Scribe], Any], *, sweeping: bool = False) -> Future[Any]: ...


@dataclass(frozen=True, slots=True)
class Desk:
    """A journal as its upkeep sees it. `rest` is a breath between two batches; it answers True to stop."""

    read: Callable[[Callable[[Reader], Any]], Any]
    write: Write
    files: Bodies
    pins: Pins
    now: Callable[[], int]
    rest: Callable[[], bool]

    def breathe(self) -> None:
        if self.rest():
            raise Interrupted


@dataclass(frozen=True, slots=True)
class Garbage:
    """What no record leads to, as far as one look can tell."""

    bodies: Sequence[Row] = ()
    nodes: Sequence[Row] = ()
    problem: str = ""


@dataclass(slots=True)
class _Marks:
    reached: set[Digest] = field(default_factory=set)
    unreadable: list[Digest] = field(default_factory=list)

    def open(self, digest: Digest, body: bytes | None, ahead: list[Digest]) -> None:
        """Go on to what this node names; if it cannot be read, that is not known."""
        if body is None or codec.digest(body) != digest:
            self.unreadable.append(digest)
        else:
            self.reach(children(body), ahead)

    def reach(self, digests: Iterable[Digest], ahead: list[Digest]) -> None:
        fresh = [digest for digest in dict.fromkeys(digests) if digest not in self.reached]
        self.reached.update(fresh)
        ahead += fresh


# -- looking ------------------------------------------------------------------------------------


def look(desk: Desk, gone: Iterable[RunId] | None = None) -> Garbage:
    """What is garbage; or, for a plan, what would be without these runs. Reads only, a little at a time."""
    without = json.dumps(sorted(gone or ()))
    newest = desk.read(lambda tx: tx.one("newest_body"))["newest"]
    roots = desk.read(lambda tx: tx.all("kept_roots", gone=without, planned=gone is not None, keep_unfinished=KEEP_POINTS))
    marks = _mark(desk, roots)
    problem, unreached = "", "[]"
    if marks.unreadable:
        lost = marks.unreadable[0][:12]
        problem = f"A saved state cannot be read whole ({lost}), so no part of any saved state was removed."
    else:
        unreached = json.dumps(_unreached(desk, marks.reached, newest))
    rows = desk.read(lambda tx: tx.all("unnamed_bodies", gone=without, newest=newest, unreached=unreached))
    return Garbage([row for row in rows if not row["is_node"]], [row for row in rows if row["is_node"]], problem)


def _mark(desk: Desk, roots: Iterable[Row]) -> _Marks:
    marks = _Marks()
    ahead: list[Digest] = []
    for row in roots:
        if row["body"] is None:  # an older checkpoint, whose root is a node
            marks.reach([row["root"]], ahead)
        else:
            marks.open(row["root"], row["body"], ahead)
    while ahead:
        desk.breathe()
        some, ahead = ahead[-_READ_AT_ONCE:], ahead[:-_READ_AT_ONCE]
        for digest, row in desk.read(partial(_nodes, digests=some)):
            if row is None:
                continue  # a text that only looks like a node, or one that is lost with all that it could lead to
            marks.open(digest, row["body"], ahead)
    return marks


def _nodes(tx: Reader, digests: Sequence[Digest]) -> list[tuple[Digest, Row | None]]:
    return [(digest, tx.one("node", digest=digest)) for digest in digests]


def _some_nodes(tx: Reader, after: int, newest: int) -> list[Row]:
    return tx.all("some_nodes", after=after, newest=newest, most=_LOOK_AT_ONCE)


def _unreached(desk: Desk, reached: set[Digest], newest: int) -> list[Digest]:
    found: list[Digest] = []
    after = 0
    while True:
        desk.breathe()
        rows = desk.read(partial(_some_nodes, after=after, newest=newest))
        if not rows:
            return found
        after = rows[-1]["blob_id"]
        found.extend(row["digest"] for row in rows if row["digest"] not in reached)


# -- removing -----------------------------------------------------------------------------------


def sweep(desk: Desk, removed: Removed) -> None:
    """Remove what nothing names, then the files of it, then give free pages back."""
    desk.write(lambda scribe: desk.pins.begin()).result()
    try:
        garbage = look(desk)
        removed.problem = removed.problem or garbage.problem
        for some in _batches(garbage.bodies):
            removed.bodies += _drop(desk, removed, some, _drop_bodies)
        for some in _batches(garbage.nodes):
            removed.nodes += _drop(desk, removed, some, _drop_nodes)
    finally:
        desk.pins.end()
    _remove_leftovers(desk, removed)
    _give_back(desk)


def _batches(rows: Sequence[Row]) -> Iterable[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += row["size"]
        if len(batch) >= _MOST_ROWS or size >= _MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _drop(desk: Desk, removed: Removed, rows: list[Row], drop: Callable[[Scribe, list[Row]], list[Row]]) -> int:
    desk.breathe()
    gone: list[Row] = desk.write(lambda scribe: drop(scribe, rows), sweeping=True).result()
    removed.bytes += sum(row["size"] for row in gone)
    for row in gone:
        if row["is_file"]:
            _remove_file(desk, removed, row["digest"])
    return len(gone)


def _drop_bodies(scribe: Scribe, rows: list[Row]) -> list[Row]:
    free = [row for row in rows if not scribe.pins.is_named(row["digest"])]
    return [row for row in free if scribe.tx.change("drop_body", id=row["blob_id"], digest=row["digest"])]


def _drop_nodes(scribe: Scribe, rows: list[Row]) -> list[Row]:
    free = [row for row in rows if not scribe.pins.is_pinned(row["digest"])]
    return [row for row in free if scribe.tx.change("drop_body", id=row["blob_id"], digest=row["digest"])]


def _remove_file(desk: Desk, removed: Removed, digest: str) -> None:
    leftover = desk.files.of(digest)
    size = desk.files.remove(leftover, lambda name: _is_named(desk, name)) if leftover else 0
    removed.files += int(size > 0)
    removed.bytes += size


def _remove_leftovers(desk: Desk, removed: Removed) -> None:
    """Files whose record was never committed, or went before them: a crash came in between."""
    for number, leftover in enumerate(desk.files.leftovers()):
        if number % _LOOK_AT_ONCE == 0:
            desk.breathe()
        if leftover.changed_at < desk.now() - SAFE_AGE_MS:
            size = desk.files.remove(leftover, lambda name: _is_named(desk, name))
            removed.files += int(size > 0)
            removed.bytes += size


def _is_named(desk: Desk, digest: str) -> bool:
    return desk.read(lambda tx: tx.one("body_is_named", digest=digest)) is not None


def _give_back(desk: Desk) -> None:
    """Shorten the file, a few pages at a time. A journal that was made before this was possible keeps its size."""
    while True:
        free = desk.read(lambda tx: tx.one("free_pages"))["free"]
        if free <= _PAGES_LEFT:
            return
        desk.breathe()
        desk.write(lambda scribe: scribe.tx.all("release_pages")).result()
        if desk.read(lambda tx: tx.one("free_pages"))["free"] >= free:
            return
