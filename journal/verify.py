"""Reads everything and says what is not what was written. Repairs nothing; a journal is verified beside its owner.

The file itself (SQLite's own check), references between records, every body against its digest, the seal of every
checkpoint and every node that its tree reaches. It takes as long as reading the whole journal takes: nothing at a
start calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import checkpoints, codec
from .errors import CheckpointCorrupt, Corrupt
from .ids import Digest
from .store.base import Reader, Row
from .store.look import Looker
from .trees import Tree

_PAGE = 64


@dataclass(frozen=True, slots=True)
class Progress:
    """One finished part of the work: what was looked at, how many of how many, and what is wrong with it."""

    part: str
    """`file`, `references`, `blobs` or `checkpoints`."""
    done: int
    total: int
    faults: list[str] = field(default_factory=list)


def verify(folder: Path) -> Iterator[Progress]:
    """Check a journal, in steps. No fault in any of them means that all is what was written."""
    looker = Looker(folder)
    yield from _check(looker, "file", "quick_check", lambda row: "" if row["quick_check"] == "ok" else row["quick_check"])
    yield from _check(looker, "references", "foreign_key_check", _dangling)
    yield from _pages(looker, "blobs", lambda tx, after: tx.all("blobs_after", after=after, most=_PAGE), _wrong_body)
    yield from _pages(looker, "checkpoints", lambda tx, after: tx.all("checkpoints_after", after=after, most=_PAGE), _Trees().wrong)


def _check(looker: Looker, part: str, pragma: str, wrong: Callable[[Row], str]) -> Iterator[Progress]:
    try:
        found = [fault for row in looker.pragma(pragma) if (fault := wrong(row))]
    except Corrupt as error:
        found = [str(error)]
    yield Progress(part, 1, 1, found)


def _dangling(row: Row) -> str:
    return f"A record of {row['table']} points to one of {row['parent']} that is not there."


type _More = Callable[[Reader, int], list[Row]]


def _pages(looker: Looker, part: str, more: _More, wrong: Callable[[Reader, Row], str]) -> Iterator[Progress]:
    """Page by page, so that neither memory nor the owner's log grows with the journal."""
    last, done, total = 0, 0, 0

    def page(tx: Reader) -> tuple[list[int], list[str]]:
        rows = more(tx, last)
        return [row["id"] for row in rows], [fault for row in rows if (fault := wrong(tx, row))]

    while True:
        try:
            total = total or looker.read(_count)[part]
            ids, faults = looker.read(page)
        except Corrupt as error:  # what lies behind it cannot be reached
            yield Progress(part, done, max(total, done), [str(error)])
            return
        if not ids:
            return
        last, done = ids[-1], done + len(ids)
        yield Progress(part, done, max(total, done), faults)


def _count(tx: Reader) -> Row:
    row = tx.one("count_bodies")
    assert row is not None
    return row


def _wrong_body(tx: Reader, row: Row) -> str:
    body: bytes | None = row["body"]
    return "" if body is not None and codec.digest(body) == row["digest"] else f"The body {row['digest'][:12]} is not what was written."


class _Trees:
    """Checkpoints share most of their nodes: each is read once."""

    def __init__(self) -> None:
        self._seen: set[Digest] = set()

    def wrong(self, tx: Reader, row: Row) -> str:
        try:
            checkpoints.check_seal(row, row["run_id"])
            tree = checkpoints.tree_of(row, Tree(lambda digest: checkpoints.node(tx, digest)))
            tree.value(row["root"])  # each has its own, also where another one of the same state was read
            tree.check(row["root"], self._seen)
        except CheckpointCorrupt as error:
            return f"The checkpoint of {row['run_id']} at {row['seq']}: {error.what}"
        return ""
