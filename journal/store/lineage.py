"""Whether a journal is the one that its head files know, and at least as far: else it was put back, or is another one.

Judges only. A head that lags behind is innocent: it is written after the commit and not synced. A head that knows a
batch which the journal does not have, another branch of it, or another journal, is no accident of a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import codec
from ..errors import JournalDamaged
from .base import Reader, Restored, Row, Transaction
from .heads import Head


@dataclass(frozen=True, slots=True)
class Identity:
    """What the journal says about itself."""

    number: int
    journal_id: str
    generation: int
    wrote_heads: bool


def identity(tx: Reader) -> Identity:
    row = tx.one("identity")
    if row is None:
        raise JournalDamaged("The mark of the last commit is gone.")
    return Identity(row["number"], row["journal_id"], row["generation"], bool(row["heads"]))


def judge(tx: Reader, heads: Sequence[Head], *, all_missing: bool) -> Restored | None:
    """Why this journal cannot be trusted to be the newest state of itself, or None."""
    known = identity(tx)
    if known.number == 0:
        return None  # nothing was ever written to it
    if known.wrote_heads and all_missing:
        return _restored("moved", known, None)
    settled = _settled(tx)
    for head in heads:
        if asdict(head) in settled:
            continue
        if known.journal_id and head.journal_id != known.journal_id:
            return _restored("replaced", known, head)
        if not known.journal_id or not _descends(tx, known, head):
            return _restored("rolled_back", known, head)
    return None


def begin_generation(tx: Transaction, restored: Restored, now: int, others: Sequence[Head] = ()) -> None:
    """From here on the journal goes on as it is. The head that told is remembered, and so are `others`: each accuses only once."""
    if tx.change("begin_generation", generation=restored.generation) == 1:
        facts = codec.encode({"number": restored.number, "head": restored.head, "heads": [asdict(head) for head in others]})
        tx.change("add_generation", generation=restored.generation, now=now, reason=restored.reason, facts=facts)


def _settled(tx: Reader) -> list[Any]:
    """Heads that began a generation already; a copy that could not be rewritten since says the same again."""
    facts = [codec.decode(row["facts"]) for row in tx.all("generations")]
    return [head for each in facts for head in (each.get("head"), *each.get("heads", ()))]


def _descends(tx: Reader, known: Identity, head: Head) -> bool:
    """The batch that the head names is one of this journal's own past."""
    row: Row | None = tx.one("opening", opening=head.opening)
    if row is None or head.generation > known.generation:
        return False
    last = known.number if row["next_batch"] is None else row["next_batch"] - 1
    return bool(row["first_batch"] <= head.number <= last)


def _restored(reason: str, known: Identity, head: Head | None) -> Restored:
    return Restored(reason, known.generation + 1, known.number, asdict(head) if head else None)
