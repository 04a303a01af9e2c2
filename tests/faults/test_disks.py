"""Disks that are full, that fail, that become read-only: for real where a mount can be had, else at the system call."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from journal.errors import JournalError, StoreFull, StoreLost, Unavailable
from journal.masking import Masker
from journal.service import Journal
from journal.store.sqlite import SqliteStore
from tests.store.contract import has, put
from tests.store.test_crash import CHILD, check
from tests.support import disk, mounts

Tally = Callable[[str, int, int], None]
needs_mounts = pytest.mark.skipif(not mounts.can_mount(), reason="mounting needs root")
needs_loop = pytest.mark.skipif(not mounts.can_loop(), reason="making a file system in a file needs root and a loop device")
needs_strace = pytest.mark.skipif(not disk.has_strace(), reason="there is no strace on PATH")
BODY = b"x" * 3000


@needs_mounts
def test_a_disk_that_is_full_at_any_fill(tmp_path: Path, tally: Tally) -> None:
    """A file system of four megabytes is filled to every multiple of eight pages, then there is room again."""
    tried = refused = 0
    with mounts.tmpfs(tmp_path / "small", 4 * 1024 * 1024) as small:
        for left in range(0, 640 * 1024, 32 * 1024):
            store = SqliteStore(small / "journal", 1)
            store.submit(put("before")).result()
            fill(small / "ballast", left)
            answers = {f"n{number}": store.submit(put(f"n{number}", os.urandom(3000))).exception(60) for number in range(300)}
            refused += sum(isinstance(error, Unavailable) for error in answers.values())
            assert all(error is None or isinstance(error, StoreFull | StoreLost) for error in answers.values())
            (small / "ballast").unlink()
            assert {name: has(store, name) for name in answers} == {name: error is None for name, error in answers.items()}
            assert store.submit(put("after")).result() == 1
            store.close()
            again = SqliteStore(small / "journal", 1)
            assert all(has(again, name) is (error is None) for name, error in answers.items())
            again.close()
            shutil.rmtree(small / "journal")
            tried += 1
    assert refused > tried
    tally(f"Fills of a small disk, {refused} writes refused and none half:", tried, tried)


def fill(path: Path, left: int) -> None:
    with path.open("wb") as ballast:
        room = os.statvfs(path.parent)
        ballast.write(bytes(max(0, room.f_bavail * room.f_bsize - left)))


@needs_mounts
def test_a_journal_is_opened_and_made_on_a_full_disk(tmp_path: Path, tally: Tally) -> None:
    tried = 0
    for existing, left in itertools.product((False, True), range(0, 400 * 1024, 16 * 1024)):
        with mounts.tmpfs(tmp_path / "small", 4 * 1024 * 1024) as small:
            if existing:
                store = SqliteStore(small / "journal", 1)
                store.submit(put("old", BODY)).result()
                store.close()
            fill(small / "ballast", left)
            with suppress(Unavailable):
                Journal.open(small / "journal", masker=Masker(list), boot={}).close()
            (small / "ballast").unlink()
            again = SqliteStore(small / "journal", 1)
            assert has(again, "old") is existing
            assert again.submit(put("new")).result() == 1
            again.close()
            tried += 1
    tally("Openings on a full disk", tried, tried)


@needs_loop
@pytest.mark.parametrize("fault", ["EROFS", "EIO"])
def test_a_file_system_that_fails_under_an_open_journal(tmp_path: Path, tally: Tally, fault: str) -> None:
    """EROFS: ext4 makes itself read-only, as after an error of its own. EIO: the file system is shut down."""
    for number in range(5):
        with mounts.ext4(tmp_path / f"disk {number}") as mounted:
            store = SqliteStore(mounted.path / "journal", 1)
            for at in range(number * 20 + 1):
                store.submit(put(f"{at}", BODY)).result()
            (mounted.abort if fault == "EROFS" else mounted.shut_down)()
            for _ in range(3):
                assert isinstance(store.submit(put("lost")).exception(60), Unavailable)
            assert store.problem
            store.close()
            with pytest.raises(JournalError):
                Journal.open(mounted.path / "journal", masker=Masker(list), boot={})
            mounted.remount()
            again = SqliteStore(mounted.path / "journal", 1)
            assert all(has(again, f"{at}") for at in range(number * 20 + 1))
            assert not has(again, "lost")
            assert again.submit(put("after")).result() == 1
            again.close()
    tally(f"{fault} under an open journal", 5, 5)


@needs_loop
def test_a_folder_that_is_mounted_read_only(tmp_path: Path, tally: Tally) -> None:
    with mounts.ext4(tmp_path / "disk") as mounted:
        SqliteStore(mounted.path / "journal", 1).close()
        mounted.abort()
        for folder in ("journal", "new"):
            with pytest.raises(Unavailable):
                Journal.open(mounted.path / folder, masker=Masker(list), boot={})
        mounted.remount()
        SqliteStore(mounted.path / "journal", 1).close()
    tally("Openings on a read-only disk", 2, 2)


FAILING = [("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("fsync", "EIO"), ("pread64", "EIO"), ("ftruncate", "EIO")]


@needs_strace
@pytest.mark.parametrize(("call", "error"), FAILING)
def test_every_single_system_call_fails_once(tmp_path: Path, tally: Tally, call: str, error: str) -> None:
    """A real process meets an error at its n-th write, sync or read; whatever it announced is there afterwards."""
    tried, hit, steps = 0, True, (1 if call != "pwrite64" else 7)
    number = 1
    while hit and tried < 60:
        world = tmp_path / f"world {number}"
        world.mkdir()
        log = tmp_path / "log"
        done = disk.record(
            disk.python(CHILD, world / "journal", 1, "close"), log, inject=f"{call}:error={error}:when={number}", only=f"{call},write"
        )
        hit = "(INJECTED)" in log.read_text(encoding="ascii")
        said = [json.loads(line) for line in done.stdout.splitlines()]
        check_announced(world / "journal", said, f"{call} {error} {number}")
        shutil.rmtree(world)
        tried += hit
        number += steps
    tally(f"{error} at the n-th {call}", tried, tried)


def check_announced(folder: Path, said: list[dict[str, Any]], where: str) -> None:
    journal = Journal.open(folder, masker=Masker(list), boot={})
    try:
        runs = journal.runs_of("chat")
        calls = {call.call_id: call for run in runs for call in journal.calls(run.run_id)}
        for facts in said:
            check(journal, facts, calls)
        assert not any(run.damaged for run in runs)
    except Exception as error:
        error.add_note(where)
        raise
    finally:
        journal.close()
