"""Secrets that became known only after they were stored: which runs hold one now. Finds, never rewrites.

What is stored is named by its digest, and records are compared by these names: another text under the old name
would be damage, and another name another record. So a find is told, and goes when its run goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .ids import RunId
from .masking import Masker
from .store.base import Read, Reader, Row
from .trees import children

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Leak:
    """A run that holds secrets which are known now: their names, never their values."""

    run_id: RunId
    names: tuple[str, ...]


def find(read: Read, masker: Masker) -> list[Leak]:
    """Search everything stored, a few records in one reading at a time, so that writes go on."""
    found: dict[str, set[str]] = {}
    held: dict[str, set[str]] = {}
    below: dict[str, Sequence[str]] = {}
    for row in _rows(read, "blobs_after"):
        body = row["body"] or b""  # a large one whose file is lost holds nothing any more
        if row["is_node"]:
            below[row["digest"]] = children(body)
        if names := masker.names_in(body):
            held[row["digest"]] = names
            for run_id in _owners(read, row["digest"]):
                found.setdefault(run_id, set()).update(names)
    for run_id, names in _in_chats(read, masker, held, below):
        found.setdefault(run_id, set()).update(names)
    for row in read(lambda tx: tx.all("texts_of_runs")):
        names = masker.names_in(row["text"].encode("utf-8", "surrogatepass")) | masker.names_in(row["body"] or b"")
        if names:
            found.setdefault(row["run_id"], set()).update(names)
    return [Leak(RunId(run_id), tuple(sorted(found[run_id]))) for run_id in sorted(found)]


def _owners(read: Read, digest: str) -> list[str]:
    return [row["run_id"] for row in read(lambda tx: tx.all("runs_with_blob", digest=digest))]


def _in_chats(
    read: Read, masker: Masker, held: Mapping[str, set[str]], below: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, set[str]]]:
    """Runs whose resume points reach a body that holds a secret. `below` is what each part of a saved state names."""
    for row in _rows(read, "checkpoints_after"):
        seen, left = {row["root"]}, [row["root"]]
        if row["body"] is not None:  # the root stands in the checkpoint
            left = children(row["body"])
            if names := masker.names_in(row["body"]):
                yield row["run_id"], names
        while left and held:
            digest = left.pop()
            if digest in held:
                yield row["run_id"], held[digest]
            fresh = [each for each in below.get(digest, ()) if each not in seen]
            seen.update(fresh)
            left += fresh


def _rows(read: Read, query: str) -> Iterator[Row]:
    after = 0

    def page(tx: Reader) -> list[Row]:
        return tx.all(query, after=after, most=_PAGE)

    while rows := read(page):
        yield from rows
        after = rows[-1]["id"]
