"""The engine's own statements by hand: what its records cost in SQLite, without any of the work around them.

What lies between raw SQLite and this is what the records need: indexes, rules, references. What lies between this and
the engine is masks, digests, encoding, threads.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from journal.store import connections
from journal.store.connections import Changes
from journal.store.sqlite import SqliteStore
from journal.store.writer import MERGE_PAGES

from .engine import Engine

MOST_TURNS = 200
_PAGES_A_COMMIT = 13

type Statement = tuple[str, Any]


class Recorded(Changes):
    """Notes what is asked of SQLite, transaction by transaction."""

    notes: list[list[Statement]]

    def __init__(self, connection: sqlite3.Connection, *more: Any, **also: Any) -> None:
        super().__init__(connection, *more, **also)
        self.notes.append([])

    def _run(self, query: str, values: dict[str, Any]) -> sqlite3.Cursor:
        self.notes[-1].append((self._named[query], values))
        return super()._run(query, values)

    def change_each(self, query: str, rows: Iterable[Mapping[str, Any]]) -> int:
        kept = list(rows)
        self.notes[-1].append((self._named[query], kept))
        return super().change_each(query, kept)


def record(folder: Path, way: str) -> list[list[Statement]]:
    """The transactions of an engine from its first on."""
    Recorded.notes = []
    with patch("journal.store.handle.Changes", Recorded):
        engine = Engine(folder)
        for _ in range(MOST_TURNS):
            (engine.turn_of_5 if way == "5" else engine.turn_of_9)()
        engine.close()
    return Recorded.notes


class Replay:
    def __init__(self, folder: Path, way: str) -> None:
        source = folder / "source"
        source.mkdir()
        self._commits = int(way)
        notes = record(source, way)
        self._notes = iter(notes[1:-1])
        shutil.rmtree(source)
        SqliteStore(folder / "target", 1).close()
        self._connection = connections.connect(folder / "target" / "journal.db", writes=True)
        self._since_merge = 0
        self._write(notes[0])

    def turn(self) -> None:
        for _ in range(self._commits):
            self._write(next(self._notes))

    def _write(self, statements: list[Statement]) -> None:
        run = self._connection.execute
        run("begin immediate")
        for sql, values in statements:
            if isinstance(values, dict):
                run(sql, values).fetchone()
            else:
                self._connection.executemany(sql, values)
        run("commit")
        self._since_merge += _PAGES_A_COMMIT
        if self._since_merge >= MERGE_PAGES:
            run("pragma wal_checkpoint(passive)").fetchone()
            self._since_merge = 0


VARIANTS: dict[str, Callable[[Path], Callable[[], None]]] = {
    "statements of the engine, 5 commits": lambda folder: Replay(folder, "5").turn,
    "statements of the engine, 9 commits": lambda folder: Replay(folder, "9").turn,
}
