"""Nothing is announced before it is durable, and a new journal has its name only when it is whole."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from journal.store.base import Transaction
from journal.store.sqlite import SqliteStore

APPLICATION_ID = 0x44455831


def put(name: str) -> Any:
    def operation(tx: Transaction) -> int:
        return tx.change("add_node", digest=name, body=b"body")

    return operation


class Watched(sqlite3.Connection):
    """Looks at the futures of a batch on both sides of its COMMIT."""

    futures: list[Future[int]] = []  # noqa: RUF012  of the one test that runs
    seen: list[tuple[str, list[bool]]] = []  # noqa: RUF012

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql != "COMMIT" or not Watched.futures:
            return super().execute(sql, *values)
        Watched.seen.append(("before", [future.done() for future in Watched.futures]))
        done = super().execute(sql, *values)
        Watched.seen.append(("after", [future.done() for future in Watched.futures]))
        return done


def test_a_future_resolves_only_after_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, **{"factory": Watched, **kwargs}))
    Watched.futures, Watched.seen = [], []
    store = SqliteStore(tmp_path / "journal", 1)
    try:
        for number in range(3):
            Watched.futures = []
            entered: list[int] = []

            def operation(tx: Transaction, number: int = number, entered: list[int] = entered) -> int:
                while not Watched.futures:  # the caller has the future by then
                    os.sched_yield()
                return int(put(f"node {number}")(tx))

            Watched.futures = [store.submit(operation)]
            assert Watched.futures[0].result(30) == 1
    finally:
        store.close()

    assert Watched.seen == [("before", [False]), ("after", [False])] * 3


def test_a_new_journal_is_synced_and_whole_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, bool]] = []
    sync = os.fsync
    folder = tmp_path / "journal"

    def watched(file: int) -> None:
        seen.append((Path(f"/proc/self/fd/{file}").readlink().name, (folder / "journal.db").exists()))
        sync(file)

    monkeypatch.setattr(os, "fsync", watched)
    SqliteStore(folder, 1).close()

    made = seen.index(("journal.db.new", False))
    assert ("journal", True) in seen[made:]
    assert ("journal.db", True) not in seen, "what has its name is whole already"
