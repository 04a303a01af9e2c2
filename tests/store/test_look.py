"""A journal is read and verified without owning it: beside a server, after a crash, from a newer version, and without a trace."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from journal.errors import JournalForeign, JournalNewer, StoreLost
from journal.look import peek_unfinished
from journal.masking import Masker
from journal.records import RunState
from journal.service import Journal
from journal.store import filesystems, migrate, opening
from journal.store.sqlite import SqliteStore
from journal.verify import verify
from tests.store.test_sqlite import OWN, child
from tests.store.worlds import World, model


def trace(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file with its size and its last change."""
    return {path.name: (path.stat().st_ino, path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir()}


def open_and_running(world: World, tmp_path: Path) -> Path:
    world.pause()
    return world.folder


def closed(world: World, tmp_path: Path) -> Path:
    world.close()
    return world.folder


def crashed(world: World, tmp_path: Path) -> Path:
    shutil.copytree(world.folder, tmp_path / "crashed")
    return tmp_path / "crashed"


def crashed_and_copied(world: World, tmp_path: Path) -> Path:
    folder = crashed(world, tmp_path)
    (folder / "journal.db-shm").unlink()
    return folder


STATES: list[Callable[[World, Path], Path]] = [open_and_running, closed, crashed, crashed_and_copied]


@pytest.mark.parametrize("state", STATES)
def test_everything_is_seen_and_nothing_is_left_behind(world: World, tmp_path: Path, state: Callable[[World, Path], Path]) -> None:
    run = world.admit()
    world.done(run, model(1), {"response": "I push"})
    held = world.recover(world.admit("held"))
    expected = world.journal.listing("all")["items"], world.journal.unfinished(), world.journal.run_view(run.run_id)["calls"]
    folder = state(world, tmp_path)
    before = trace(folder)

    look = Journal.look(folder, masker=world.masker, clock=world.clock)
    seen = look.listing("all")["items"], look.unfinished(), look.run_view(run.run_id)["calls"]
    status = look.status()
    peeked = peek_unfinished(folder)

    assert seen[:2] == expected[:2]
    assert [call["status"] for call in seen[2]] == ["saved"]
    assert look.run(held.run_id).state is RunState.QUEUED
    assert look.calls(run.run_id)[0].value == {"response": "I push"}
    assert {each["id"] for offer in [look.run_view(held.run_id)] for each in offer["decisions"]} == {"resume", "stop"}
    assert set(peeked) == {"chat", "held"}
    assert (status["schema"], status["newer"]) == (look.schema, False)
    assert status["counts"]["unfinished"] == 2
    assert (status["identity"]["generation"], status["generations"]) == (1, [])
    assert trace(folder) == before


def test_it_says_whether_a_server_has_it(tmp_path: Path) -> None:
    with child(OWN, tmp_path / "journal"):
        assert Journal.look(tmp_path / "journal", masker=Masker(list)).status()["owned"] is True

    assert Journal.look(tmp_path / "journal", masker=Masker(list)).status()["owned"] is False


def test_a_look_never_keeps_a_server_from_starting(world: World) -> None:
    world.admit()
    look = Journal.look(world.folder, masker=world.masker)
    world.restart()
    started = threading.Event()

    def restart(tx: object) -> None:
        world.restart()
        started.set()

    look._looker.read(restart)

    assert started.is_set()
    assert len(look.unfinished()) == 1


def test_what_is_written_while_a_closed_journal_is_read_is_read_again(world: World) -> None:
    world.admit()
    world.close()
    look = Journal.look(world.folder, masker=world.masker)
    counts = []

    def count(tx) -> int:  # type: ignore[no-untyped-def]
        counts.append(len(tx.all("peek_unfinished")))
        if len(counts) == 1:
            world.journal = world._open()
            world.admit("another")
        return counts[-1]

    assert look._looker.read(count) == 2
    assert counts == [1, 2]


def test_a_place_without_a_log_is_read_beside_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - virtiofs virtiofs0 rw\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)
    world = World(tmp_path / "journal")
    run = world.admit()
    world.pause()
    before = set(trace(world.folder))

    look = Journal.look(world.folder, masker=world.masker)

    assert [each.run_id for each in look.unfinished()] == [run.run_id]
    world.done(run, model(1))
    assert len(look.calls(run.run_id)) == 1
    assert set(trace(world.folder)) == before
    world.close()


def newer(folder: Path, *changes: str) -> None:
    connection = sqlite3.connect(folder / "journal.db", isolation_level=None)
    for change in (*changes, "pragma user_version = 99"):
        connection.execute(change)
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def test_a_newer_journal_is_read_as_far_as_it_can_be(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    world.close()
    newer(world.folder, "alter table runs add column colour text", "alter table generations rename to eras")
    before = trace(world.folder)

    look = Journal.look(world.folder, masker=world.masker, clock=world.clock)

    assert (look.is_newer, look.schema) == (True, 99)
    assert [each.run_id for each in look.unfinished()] == [run.run_id]
    assert len(look.run_view(run.run_id)["calls"]) == 1
    status = look.status()
    assert (status["newer"], status["counts"]["unfinished"], status["generations"]) == (True, 1, None)
    with pytest.raises(JournalNewer):
        look._looker.read(lambda tx: tx.all("generations"))
    with pytest.raises(JournalNewer):
        world.journal = world._open()
    assert trace(world.folder) == before
    connection = sqlite3.connect(world.folder / "journal.db", isolation_level=None)
    connection.execute("alter table eras rename to generations")
    connection.execute("alter table runs drop column colour")
    connection.execute(f"pragma user_version = {migrate.newest()}")
    connection.close()
    world.journal = world._open()


def test_an_older_journal_says_what_brings_it_up_to_date(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "journal.db")
    connection.executescript((Path(__file__).parent / "golden" / "schema_1.sql").read_text(encoding="utf-8"))
    connection.close()

    look = Journal.look(tmp_path, masker=Masker(list))

    assert len(look.unfinished()) == 1
    status = look.status()
    assert (status["schema"], status["counts"]["held"], status["identity"]) == (1, 1, None)
    with pytest.raises(StoreLost, match="up to date"):
        look._looker.read(lambda tx: tx.one("identity"))


def test_an_older_journal_is_not_called_damaged_for_what_it_keeps_elsewhere(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "journal.db")
    connection.executescript((Path(__file__).parent / "golden" / "schema_4.sql").read_text(encoding="utf-8"))
    connection.close()

    look = Journal.look(tmp_path, masker=Masker(list))
    (held,) = look.unfinished()

    assert len(look.run_view(held.run_id)["calls"]) == 2
    point = look.resume_point(held.run_id)
    with pytest.raises(StoreLost, match="up to date"):
        point.tree.list(point.tree.value(point.root)["history"])
    with pytest.raises(StoreLost, match="up to date"):
        faults(tmp_path)


def test_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(StoreLost, match="no journal"):
        Journal.look(tmp_path / "journal", masker=Masker(list))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "journal.db").write_text("something else, and long enough to be taken for the head of a file " * 20)
    with pytest.raises(JournalForeign):
        Journal.look(tmp_path, masker=Masker(list))


# -- verifying ------------------------------------------------------------------------------------


@pytest.fixture
def full(world: World) -> World:
    """A journal with a bit of everything."""
    for chat in range(4):
        run = world.admit(f"chat {chat}")
        for step in range(1, 4):
            world.done(run, model(step), {"response": f"{chat} {step}"})
            world.journal.checkpoint(run.run_id, run.token, world.point({"A0": step}, tuple(f"{chat} {n}" for n in range(80))), []).result()
    return world


def faults(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for progress in verify(folder):
        found.setdefault(progress.part, []).extend(progress.faults)
    return found


PARTS = ["file", "references", "blobs", "checkpoints"]


def test_a_sound_journal_is_verified_beside_its_owner(full: World) -> None:
    steps = list(full.journal.verify())

    assert list(dict.fromkeys(step.part for step in steps)) == PARTS
    assert [step.faults for step in steps if step.faults] == []
    last = {step.part: step for step in steps}
    assert all(step.done == step.total > 0 for step in last.values())
    full.admit("goes on")


DAMAGE = {
    "a value": ("blobs", "update blobs set body = cast(body || x'20' as blob) where blob_id = 5"),
    "a part of a state": ("blobs", "update blobs set body = cast(body || x'20' as blob) where is_node = 1"),
    "a reference": ("references", "update runs set chat_id = 'nobody' where chat_id = 'chat 2'"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_not_what_was_written_is_named(full: World, damage: str) -> None:
    part, change = DAMAGE[damage]
    full.close()
    connection = sqlite3.connect(full.folder / "journal.db", isolation_level=None)
    assert connection.execute(change).rowcount >= 1
    connection.close()
    before = trace(full.folder)

    found = faults(full.folder)

    assert found[part]
    assert found["file"] == []
    assert trace(full.folder) == before


THIRD = "(select seq from checkpoints order by seq limit 1 offset 2)"


@pytest.mark.parametrize(
    "change",
    [
        f"update checkpoints set position = x'7b7d' where seq = {THIRD}",
        f"update checkpoints set seal = 'x' where seq = {THIRD}",
        "delete from blobs where blob_id = (select max(blob_id) from blobs where is_node = 1)",
        f"update checkpoints set body = null where seq = {THIRD}",
    ],
)
def test_a_checkpoint_that_cannot_be_read_whole_is_named(full: World, change: str) -> None:
    full.close()
    connection = sqlite3.connect(full.folder / "journal.db", isolation_level=None)
    connection.execute("pragma foreign_keys = off")
    connection.execute(change)
    connection.close()

    found = faults(full.folder)["checkpoints"]

    assert len(found) >= 1
    assert all("The checkpoint of run_" in fault for fault in found)


def test_a_text_that_looks_like_a_digest_is_a_text(world: World) -> None:
    run = world.admit()
    world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}, ("f" * 64, {"sha": "e" * 64})), []).result()

    assert faults(world.folder)["checkpoints"] == []


def test_a_damaged_page_is_found(full: World) -> None:
    full.close()
    connection = sqlite3.connect(full.folder / "journal.db")
    (root,) = connection.execute("select rootpage from sqlite_schema where name = 'decisions'").fetchone()
    connection.close()
    with (full.folder / "journal.db").open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)

    found = faults(full.folder)

    assert found["file"]
    assert list(found) == PARTS  # it goes on with what can be read


# -- the checks at the opening ----------------------------------------------------------------------


def opened_with(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which checks an opening makes."""
    made: list[str] = []
    checks = opening._checks

    def noted(*args: object) -> tuple[str, ...]:
        made.extend(checks(*args))  # type: ignore[arg-type]
        return tuple(made)

    with monkeypatch.context() as now:
        now.setattr(opening, "_checks", noted)
        SqliteStore(folder, 1).close()
    return made


def test_the_checks_at_a_start_do_not_grow_with_the_journal(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.admit()
    shutil.copytree(world.folder, tmp_path / "crashed")
    shutil.copytree(world.folder, tmp_path / "large and crashed")
    world.close()

    assert opened_with(world.folder, monkeypatch) == ["quick_check('runs')"]
    assert opened_with(tmp_path / "crashed", monkeypatch) == ["quick_check"]
    monkeypatch.setattr(opening, "MOST_WHOLE", 1000)
    assert opened_with(tmp_path / "large and crashed", monkeypatch) == ["quick_check('runs')", "quick_check('calls')"]
    assert opened_with(world.folder, monkeypatch) == []
    world.journal = world._open()
