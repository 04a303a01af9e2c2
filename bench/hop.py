"""The floor's own writes through the journal's writer thread and futures, nothing of the engine: what the thread alone costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from journal.store.base import Transaction
from journal.store.sqlite import SqliteStore

from .work import Texts, dumps


class Hop:
    """As many commits as the floor, each of one small row that is new and one wait."""

    def __init__(self, folder: Path, commits: int) -> None:
        self._store = SqliteStore(folder / "journal", 1)
        self._texts = Texts()
        self._commits, self._count = commits, 0

    def turn(self) -> None:
        bodies = [dumps(message).encode() for _, _, message in self._texts.answers()]
        for number in range(self._commits):
            self._store.submit(self._row(bodies[number] if number < len(bodies) else b"{}")).result()

    def _row(self, body: bytes) -> Callable[[Transaction], int]:
        self._count += 1
        name = f"{self._count:064d}"
        return lambda tx: tx.change("add_node", digest=name, body=body)


VARIANTS: dict[str, Callable[[Path], Callable[[], None]]] = {
    "store, 5 commits": lambda folder: Hop(folder, 5).turn,
    "store, 9 commits": lambda folder: Hop(folder, 9).turn,
}
