"""Resume points on disk: saved with the run, read back verified. Corrupt means leave it and tell (I9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import codec
from .errors import CheckpointCorrupt, RecordCorrupt
from .ids import Digest, RunId
from .records import ResumePoint
from .runs import Scribe
from .store.base import Reader, Row
from .trees import Tree


@dataclass(frozen=True, slots=True)
class LoadedPoint:
    """A verified checkpoint. `tree` reads its nodes and verifies each of them."""

    root: Digest
    position: dict[str, int]
    tree: Tree
    seq: int


def save(scribe: Scribe, run_id: RunId, point: ResumePoint) -> int:
    """Store the new nodes and the checkpoint; answers its place in the journal."""
    for digest, body in point.nodes.items():
        scribe.store_node(digest, body)
    if scribe.tx.one("has_node", digest=point.root) is None:
        raise CheckpointCorrupt("Its root was not handed in and is not stored.", run_id=run_id)
    position = codec.encode(dict(point.position))
    seq = scribe.event("checkpoint_saved", run_id)
    scribe.tx.change(
        "add_checkpoint",
        run_id=run_id,
        seq=seq,
        root=point.root,
        position=position,
        seal=_seal(run_id, seq, point.root, position),
        now=scribe.now,
    )
    scribe.tx.change("note_checkpoint", run_id=run_id, seq=seq)
    return seq


def newest(tx: Reader, run_id: RunId, tree: Tree) -> LoadedPoint:
    """The newest checkpoint of a run. One that does not validate is never skipped for an older one."""
    row = tx.one("newest_checkpoint", run_id=run_id)
    if row is None:
        raise CheckpointCorrupt("This run has no checkpoint.", run_id=run_id)
    check_seal(row, run_id)
    try:
        position = codec.decode(row["position"])
    except RecordCorrupt as error:
        raise CheckpointCorrupt(error.what, run_id=run_id) from error
    _check(tx, row["root"])
    return LoadedPoint(row["root"], position, tree, row["seq"])


def check_seal(row: Row, run_id: RunId) -> None:
    if row["seal"] != _seal(run_id, row["seq"], row["root"], row["position"]):
        raise CheckpointCorrupt("The record of the checkpoint is not what was written.", run_id=run_id)


def _check(tx: Reader, root: Digest) -> None:
    Tree(lambda digest: node(tx, digest)).value(root)


def _seal(run_id: RunId, seq: int, root: str, position: bytes) -> str:
    facts: list[Any] = [run_id, seq, root, position]
    return codec.digest(codec.encode(facts))


def node(tx: Reader, digest: Digest) -> bytes:
    row = tx.one("node", digest=digest)
    body: bytes | None = row["body"] if row else None
    if body is None:
        raise CheckpointCorrupt(f"The node {digest[:12]} is missing.")
    return body
