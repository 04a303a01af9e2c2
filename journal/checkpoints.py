"""Resume points on disk: saved with the run, read back verified. Corrupt means leave it and tell (I9)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import codec
from .errors import CheckpointCorrupt, NotRunning, RecordCorrupt
from .ids import Digest, RunId
from .records import ResumePoint
from .runs import load_any
from .scribe import Scribe
from .store.base import Reader, Row
from .trees import Tree, missing

MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class LoadedPoint:
    """A verified checkpoint. `tree` reads its nodes and verifies each of them."""

    root: Digest
    position: dict[str, int]
    tree: Tree
    seq: int


def save(scribe: Scribe, run_id: RunId, token: int, point: ResumePoint) -> int:
    """Store the new nodes and the checkpoint of a run that runs under this token; answers its place in the journal."""
    seq = scribe.event("checkpoint_saved", run_id)
    if scribe.tx.change("note_checkpoint", run_id=run_id, token=token, seq=seq) != 1:
        raise NotRunning(load_any(scribe.tx, run_id), token=token)
    scribe.store_nodes((digest, body) for digest, body in point.nodes.items() if digest != point.root)
    body = point.nodes.get(point.root) or _known_root(scribe.tx, run_id, point.root)
    return _add(scribe, run_id, seq, point.root, body, codec.encode(dict(point.position)))


def save_again(scribe: Scribe, run_id: RunId, row: Row) -> int:
    """A person chose an older checkpoint: it becomes the newest by a record of its own, and every other one stays."""
    seq = scribe.event("checkpoint_saved", run_id)
    scribe.tx.change("choose_checkpoint", run_id=run_id, seq=seq)
    return _add(scribe, run_id, seq, row["root"], row["body"], row["position"])


def _add(scribe: Scribe, run_id: RunId, seq: int, root: Digest, body: bytes | None, position: bytes) -> int:
    scribe.tx.change(
        "add_checkpoint",
        run_id=run_id,
        seq=seq,
        root=root,
        body=body,
        position=position,
        seal=_seal(run_id, seq, root, position),
        now=scribe.now,
    )
    return seq


def _known_root(tx: Reader, run_id: RunId, root: Digest) -> bytes | None:
    """The root of a state that was saved before; None where it is a node."""
    row = tx.one("root_of_run", run_id=run_id, root=root)
    if row is None and tx.one("has_node", digest=root) is None:
        raise CheckpointCorrupt("Its root was not handed in and is not stored.", run_id=run_id)
    return None if row is None else row["body"]


def newest(tx: Reader, run_id: RunId, tree: Tree) -> LoadedPoint:
    """The newest checkpoint of a run. One that does not validate is never skipped for an older one."""
    row = tx.one("newest_checkpoint", run_id=run_id)
    if row is None:
        raise CheckpointCorrupt("This run has no checkpoint.", run_id=run_id)
    return loaded(tx, run_id, row, tree)


def of_run(tx: Reader, run_id: RunId) -> list[Row]:
    """The newest checkpoints of a run as they are recorded, newest first; none of them is verified yet."""
    return tx.all("checkpoints_of_run", run_id=run_id, most=MOST_LISTED)


def loaded(tx: Reader, run_id: RunId, row: Row, tree: Tree) -> LoadedPoint:
    """A checkpoint, its record verified. Raises CheckpointCorrupt."""
    check_seal(row, run_id)
    try:
        position = codec.decode(row["position"])
    except RecordCorrupt as error:
        raise CheckpointCorrupt(error.what, run_id=run_id) from error
    tree_of(row, Tree(lambda digest: node(tx, digest))).value(row["root"])
    return LoadedPoint(row["root"], position, tree_of(row, tree), row["seq"])


def tree_of(row: Row, tree: Tree) -> Tree:
    """The tree of this checkpoint: its root stands in the checkpoint itself, where it is no older one."""
    return tree if row["body"] is None else tree.under(row["root"], row["body"])


def check_seal(row: Row, run_id: RunId) -> None:
    if row["seal"] != _seal(run_id, row["seq"], row["root"], row["position"]):
        raise CheckpointCorrupt("The record of the checkpoint is not what was written.", run_id=run_id)


def _seal(run_id: RunId, seq: int, root: str, position: bytes) -> str:
    facts: list[Any] = [run_id, seq, root, position]
    return codec.digest(codec.encode(facts))


def node(tx: Reader, digest: Digest) -> bytes:
    row = tx.one("node", digest=digest)
    body: bytes | None = row["body"] if row else None
    if body is None:
        raise CheckpointCorrupt(missing(digest))
    return body


def nodes(tx: Reader, digests: list[Digest]) -> dict[Digest, bytes]:
    """Those of these nodes that are stored; none of them is verified yet."""
    rows = tx.all("nodes", digests=json.dumps(digests))
    return {row["digest"]: row["body"] for row in rows if row["body"] is not None}
