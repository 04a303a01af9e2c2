"""The writer thread dies at any moment: nobody waits for ever, and a future never says what is not so."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from journal.errors import StoreLost
from journal.store import handle
from journal.store.base import Transaction
from journal.store.sqlite import SqliteStore
from tests.store.contract import has, put
from tests.store.test_sqlite import ATTEMPTS_OF_A_SLOW_MACHINE, LOCK, child
from tests.support.threads import kill_thread

PATIENCE = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def store(folder: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(folder, 1)
    store.submit(put("first")).result(PATIENCE)
    yield store
    store.close()


def kill_writer(store: SqliteStore) -> bool:
    writer = store._writer.thread
    return writer is not None and kill_thread(writer, store._writer._write.__name__)


def assert_true(store: SqliteStore, name: str, future: Future[int]) -> None:
    """What the future says is what the journal has."""
    error = future.exception(PATIENCE)
    assert isinstance(error, StoreLost | None)
    assert has(store, name) is (error is None), error


def test_an_operation_that_meets_a_dying_writer_is_answered(store: SqliteStore) -> None:
    while not kill_writer(store):
        os.sched_yield()  # it is between two things that it does
    # it sleeps, and dies when it is woken

    assert_true(store, "woke it", store.submit(put("woke it")))
    assert store.submit(put("next")).result(PATIENCE) == 1


def test_a_death_before_the_transaction_began_announces_nothing(store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "_LOCK_ATTEMPTS", ATTEMPTS_OF_A_SLOW_MACHINE)
    with child(LOCK, folder / "journal.db"):
        waiting = store.submit(put("x"))
        while store.problem is None:
            time.sleep(0.01)
        assert kill_writer(store)

        assert isinstance(waiting.exception(PATIENCE), StoreLost)

    assert not has(store, "x")
    assert store.submit(put("next")).result(PATIENCE) == 1


def test_a_death_inside_an_operation_announces_nothing(store: SqliteStore) -> None:
    def suicide(tx: Transaction) -> int:
        put("half")(tx)
        assert kill_writer(store)
        time.sleep(0)
        return 1

    assert isinstance(store.submit(suicide).exception(PATIENCE), StoreLost)
    assert not has(store, "half")
    assert store.submit(put("next")).result(PATIENCE) == 1


@pytest.mark.parametrize("made_anew", [False, True])
def test_a_death_right_after_a_head_was_written_is_not_taken_for_somebody_elses_hand(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch, made_anew: bool
) -> None:
    head, write, died = folder / "journal.head", os.pwrite, threading.Event()
    while not head.exists():
        time.sleep(0.01)

    def written_and_dead(file: int, data: bytes, at: int) -> int:
        monkeypatch.setattr(os, "pwrite", write)
        write(file, data, at)
        died.set()
        raise SystemExit

    monkeypatch.setattr(os, "pwrite", written_and_dead)
    if made_anew:
        head.unlink()
    store.submit(put("a head is due")).result(PATIENCE)
    assert died.wait(PATIENCE)
    while store._writer.thread is not None:
        time.sleep(0.01)  # buried

    for number in range(3):
        assert store.submit(put(f"next {number}")).result(PATIENCE) == 1


def storm(store: SqliteStore, deaths: int, chance: random.Random) -> int:
    """Kill the writer again and again while others submit; answers how many operations were checked."""
    checked = 0
    for number in range(deaths):
        futures = []
        for part in range(chance.randint(1, 6)):
            name = f"{number}.{part}"
            futures.append((name, store.submit(put(name, b"x" * chance.randint(1, 20_000)))))
            if chance.random() < 0.3:
                time.sleep(chance.random() * 0.004)
        kill_writer(store)
        futures.append((f"{number}.last", store.submit(put(f"{number}.last"))))
        for name, future in futures:
            assert_true(store, name, future)
        checked += len(futures)
    assert store.submit(put("afterwards")).result(PATIENCE) == 1
    return checked


def test_forty_deaths_at_random_moments(store: SqliteStore) -> None:
    assert storm(store, 40, random.Random(40)) > 40
