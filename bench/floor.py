"""The floor: what the disk and raw SQLite cost, with the journal's own WAL settings and as many commits."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from journal.store.writer import MERGE_PAGES

from .work import Texts, dumps

TABLE = (
    "create table steps (seq integer primary key, run integer not null, step integer not null, kind integer not null, body blob not null)"
)
INSERT = "insert into steps (run, step, kind, body) values (?, ?, ?, ?)"
PAGES_A_COMMIT = 3


def connect(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None, check_same_thread=False)
    for pragma in ("journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 0", "secure_delete = on"):
        connection.execute(f"pragma {pragma}")
    connection.execute(TABLE)
    # A log that still grows makes every sync dearer. The journal's own has its size after a few turns, so this one has it too.
    connection.execute("create table filling (body blob)")
    connection.execute("insert into filling values (zeroblob(?))", (MERGE_PAGES * 4096,))
    connection.execute("drop table filling")
    connection.execute("pragma wal_checkpoint(restart)").fetchone()
    return connection


def write_and_sync(path: Path, data: bytes) -> None:
    """A new file with all of that, on the disk."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(file, data)
    os.fdatasync(file)
    os.close(file)


class Floor:
    """A turn in raw SQLite. With 5 commits a result, its checkpoint and the next intent are one; with 9 the intents are their own."""

    def __init__(self, folder: Path, commits: int) -> None:
        self._connection = connect(folder)
        self._commits = commits
        self._texts = Texts()
        self._turns = self._since_merge = 0

    def turn(self) -> None:
        self._turns += 1
        user = dumps(self._texts.user())
        together = self._commits == 5
        self._write((-1, 0, user), *([(0, 1, self._intent(0))] if together else []))
        for place, _, message in self._texts.answers():
            if not together:
                self._write((place, 1, self._intent(place)))
            rows = [(place, 2, dumps(message)), (place, 3, dumps({"step": place, "length": self._turns * 5 + place}))]
            if together and place < 3:
                rows.append((place + 1, 1, self._intent(place + 1)))
            self._write(*rows)

    def _intent(self, place: int) -> str:
        return dumps({"key": f"{self._turns}:{place}", "arguments": {"q": "invoice"}})

    def _write(self, *rows: tuple[int, int, str]) -> None:
        run = self._connection.execute
        run("begin immediate")
        for step, kind, body in rows:
            run(INSERT, (self._turns, step, kind, body))
        run("commit")
        self._since_merge += PAGES_A_COMMIT
        if self._since_merge >= MERGE_PAGES:
            run("pragma wal_checkpoint(passive)").fetchone()
            self._since_merge = 0


class Syncs:
    """So many bare overwrites of 4 KiB, each synced: what the disk asks for five or nine commits."""

    def __init__(self, folder: Path, count: int) -> None:
        self._file = os.open(folder / "syncs", os.O_CREAT | os.O_RDWR)
        self._count, self._at, self._block = count, 0, os.urandom(4096)
        os.write(self._file, self._block * 1024)
        os.fsync(self._file)

    def turn(self) -> None:
        for _ in range(self._count):
            os.pwrite(self._file, self._block, self._at)
            self._at = (self._at + 4096) % (4 << 20)
            os.fdatasync(self._file)


VARIANTS: dict[str, Callable[[Path], Callable[[], None]]] = {
    "raw SQLite, 5 commits": lambda folder: Floor(folder, 5).turn,
    "raw SQLite, 9 commits": lambda folder: Floor(folder, 9).turn,
    "bare syncs, 5": lambda folder: Syncs(folder, 5).turn,
    "bare syncs, 9": lambda folder: Syncs(folder, 9).turn,
}
