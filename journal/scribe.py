"""What every rule of the engine writes with: one transaction, the moment, and how an event or a body gets into it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import codec
from .codec import Body
from .ids import CallId, Digest, Ids, RunId
from .pins import Pins
from .records import Call
from .store.base import Transaction


@dataclass(slots=True)
class Scribe:
    """One transaction with what every record of it has in common."""

    tx: Transaction
    now: int
    boot_id: str
    ids: Ids
    begun: dict[CallId, Call] = field(default_factory=dict)
    """What is known of calls that began in this process and have no result yet; their intents never change."""
    pins: Pins = field(default_factory=Pins)
    stubs: Mapping[str, bytes] = field(default_factory=dict)
    """What goes into the record in place of a body that is durable as a file."""

    def event(self, kind: str, run_id: RunId | None, *, call_id: CallId | None = None, version: int | None = None, **facts: Any) -> int:
        """Append to the history, of a run or of the journal as a whole; answers the place. Facts are masked by who hands them in."""
        seq = self.tx.place()
        data = codec.encode(facts) if facts else None
        if run_id is None:
            self.tx.change("add_notice", seq=seq, at=self.now, kind=kind, boot_id=self.boot_id, facts=data)
            return seq
        self.tx.change(
            "add_event",
            seq=seq,
            at=self.now,
            kind=kind,
            run_id=run_id,
            call_id=call_id,
            version=version,
            boot_id=self.boot_id,
            facts=data,
        )
        return seq

    def store(self, body: Body) -> Digest:
        self.pins.note(body.digest)
        self.tx.change("add_blob", digest=body.digest, body=self.stubs.get(body.digest, body.data))
        return body.digest

    def store_nodes(self, nodes: Iterable[tuple[Digest, bytes]]) -> None:
        rows = []
        for digest, body in nodes:
            self.pins.note(digest)
            rows.append({"digest": digest, "body": self.stubs.get(digest, body)})
        if rows:
            self.tx.change_each("add_node", rows)
