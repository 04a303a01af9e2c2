"""Safety copies are private, whole and verified; putting one back deletes nothing and holds what was unfinished."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journal import backup, restore
from journal.backup import DATABASE, MANIFEST, Backup
from journal.digests import of_file
from journal.errors import BackupDamaged, JournalError, JournalNewer, StoreFull, StoreLocked, StoreLost, UnknownBackup
from journal.look import peek_unfinished
from journal.records import Choice, HoldReason, RunState
from journal.store import bodies, switching
from journal.store.bodies import LARGE
from tests.store.test_sqlite import files_end_at
from tests.store.worlds import World, model, tool

BIG = "x" * (LARGE + 1)


@pytest.fixture
def filled(world: World) -> World:
    """A finished run with a large result, a run that goes on, and one on hold."""
    done = world.admit("done", "m1")
    world.done(done, tool(1), BIG)
    world.journal.close_run(done.run_id, done.token, RunState.COMPLETED, "bye", world.point(history=(f"history {BIG}",)), []).result()
    running = world.admit("running", "m2")
    world.done(running, model(1), {"response": "I push"})
    world.opened(running, tool(1))
    world.run_in(RunState.HELD, "held")
    world.clock.turn(60)
    return world


def shows(world: World) -> dict[str, Any]:
    """All that a journal shows, without what a restore changes."""
    found = {}
    for item in world.journal.listing("all")["items"]:
        run = world.journal.run(item["run_id"])
        point = world.journal.resume_point(run.run_id)
        history = [point.tree.value(each) for each in point.tree.list(point.tree.value(point.root)["history"])]
        found[run.run_id] = (run.chat_id, run.input, run.answer, world.journal.calls(run.run_id), history)
    return found


def restored(world: World, name: str) -> restore.Restored:
    """With the journal closed, and open again afterwards."""
    world.journal.close()
    try:
        return restore.restore(world.folder, name, clock=world.clock)
    finally:
        world.journal = world._open()


# -- making ---------------------------------------------------------------------------------------


def test_a_backup_is_private_and_whole(filled: World) -> None:
    before = os.umask(0)
    try:
        made = filled.journal.backup()
    finally:
        os.umask(before)

    assert made.manifest == backup.verify(made.path)
    assert made.manifest is not None
    assert (made.manifest.counts["runs"], len(made.manifest.files), made.manifest.damaged) == (3, 2, [])
    assert made.manifest.schema == filled.journal.schema
    assert made.manifest.made_at == filled.clock.ms
    for path in [made.path.parent, *made.path.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert sorted(path.name for path in made.path.iterdir()) == ["blobs", DATABASE, MANIFEST]


def test_copies_of_one_journal_name_the_same_journal(filled: World) -> None:
    first = filled.journal.backup()
    filled.restart()
    second = filled.journal.backup()

    assert first.manifest is not None
    assert second.manifest is not None
    assert first.manifest.journal_id == second.manifest.journal_id != ""


def test_a_backup_is_made_beside_running_chats_and_holds_one_state(filled: World) -> None:
    done, made = threading.Event(), []

    def work() -> None:
        number = 0
        while not done.is_set():
            number += 1
            run = filled.admit("busy", f"b{number}")
            filled.done(run, tool(1), f"{number} {BIG}" if number % 3 == 0 else number)
            filled.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", filled.point(), []).result()

    chat = threading.Thread(target=work)
    chat.start()
    try:
        for _ in range(3):
            made.append(filled.journal.backup())
            filled.clock.turn(1)
    finally:
        done.set()
        chat.join()

    counts = [each.manifest.counts["runs"] for each in made if each.manifest]
    assert counts == sorted(counts)
    for each in made:
        backup.verify(each.path)


def test_the_newest_ones_stay(filled: World) -> None:
    names = []
    for _ in range(4):
        names.append(filled.journal.backup(keep=3).name)
        filled.clock.turn(1)

    assert [each.name for each in backup.list_all(filled.folder)] == names[:0:-1]
    filled.journal.backup(keep=1)
    assert len(list((filled.folder / "backups").glob("[!.]*"))) == 1


def test_what_is_no_whole_backup_is_listed_with_the_reason_and_never_removed(filled: World) -> None:
    made = filled.journal.backup()
    odd = filled.folder / "backups" / "20200101T000000Z-odd"
    odd.mkdir()
    filled.clock.turn(1)
    newer = filled.journal.backup(keep=1)

    listed = backup.list_all(filled.folder)
    assert [each.name for each in listed] == [newer.name, odd.name]
    assert not made.path.exists()
    assert (listed[1].name, listed[1].manifest, "no manifest" in listed[1].problem) == (odd.name, None, True)
    with pytest.raises(BackupDamaged):
        backup.verify(odd)


def test_a_journal_with_a_lost_value_can_still_be_copied_and_the_copy_says_so(filled: World) -> None:
    (file, *_) = [path for path in (filled.folder / "blobs").rglob("*") if path.is_file()]
    file.unlink()

    made = filled.journal.backup()

    assert made.manifest is not None
    assert made.manifest.damaged == [file.name]
    assert backup.verify(made.path) == made.manifest


def test_backups_share_files_with_each_other_and_none_with_the_journal(filled: World) -> None:
    first = filled.journal.backup()
    filled.clock.turn(1)
    second = filled.journal.backup()

    def inodes(folder: Path) -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in (folder / "blobs").rglob("*") if path.is_file()}

    assert inodes(first.path) == inodes(second.path)
    assert set(inodes(first.path).values()).isdisjoint(inodes(filled.folder).values())


def test_a_file_that_an_earlier_backup_lost_is_taken_from_the_journal(filled: World) -> None:
    first = filled.journal.backup()
    next(path for path in (first.path / "blobs").rglob("*") if path.is_file()).write_bytes(b"damaged")
    filled.clock.turn(1)

    second = filled.journal.backup()

    assert second.manifest is not None
    assert second.manifest.damaged == []
    assert backup.verify(second.path)


def test_two_at_once_are_one_and_a_refusal(filled: World) -> None:
    refusals: list[JournalError] = []

    def again() -> None:
        if not refusals:
            with pytest.raises(StoreLocked) as refusal:
                backup.make(filled.folder)
            refusals.append(refusal.value)

    filled.journal.backup(step=again)

    assert len(refusals) == 1


def test_a_backup_that_is_stopped_leaves_nothing(filled: World) -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    with pytest.raises(Stop):
        filled.journal.backup(step=stop)

    assert list((filled.folder / "backups").glob("[!.]*")) == []
    assert filled.journal.backup().manifest is not None


def full_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], None]:
    def refuse(*told: Any, **more: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    place: Any = {"write_whole": backup, "sync": bodies, "copyfile": shutil, "copyfileobj": shutil, "mkdir": Path}[name]
    monkeypatch.setattr(place, name, refuse)
    if name == "sync":
        monkeypatch.setattr(backup, name, refuse)
    return monkeypatch.undo


@pytest.mark.parametrize("what", ["write_whole", "sync", "mkdir", "copyfileobj"])
def test_a_full_disk_is_said_and_leaves_no_half_backup(filled: World, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    filled.journal.backup()
    before = backup.list_all(filled.folder)
    filled.done(filled.admit("new", "m7"), tool(1), f"not in the earlier one {BIG}")
    free = full_disk(monkeypatch, what)
    with pytest.raises(StoreFull):
        filled.journal.backup()
    free()

    assert backup.list_all(filled.folder) == before
    assert filled.journal.backup(keep=1).manifest is not None


def test_a_disk_that_is_full_for_the_copy_of_the_database_is_said(filled: World) -> None:
    with files_end_at(100_000), pytest.raises((StoreFull, StoreLost)):
        backup.make(filled.folder)

    assert backup.list_all(filled.folder) == []
    assert filled.journal.backup().manifest is not None


# -- verifying ------------------------------------------------------------------------------------


def inside(made: Backup, statement: str) -> None:
    connection = sqlite3.connect(made.path / DATABASE, isolation_level=None)
    assert connection.execute(statement).rowcount >= 1
    connection.close()


def resealed(made: Backup) -> None:
    """A manifest that agrees with a changed database: the database itself has to show the damage."""
    said = json.loads((made.path / MANIFEST).read_text())
    said["database"] = of_file(made.path / DATABASE)
    (made.path / MANIFEST).write_text(json.dumps(said))


DAMAGE: dict[str, Callable[[Backup], object]] = {
    "no database": lambda made: (made.path / DATABASE).unlink(),
    "a byte": lambda made: (made.path / DATABASE).write_bytes((made.path / DATABASE).read_bytes()[:-1] + b"?"),
    "half": lambda made: (made.path / DATABASE).write_bytes((made.path / DATABASE).read_bytes()[:8192]),
    "no manifest": lambda made: (made.path / MANIFEST).unlink(),
    "manifest": lambda made: (made.path / MANIFEST).write_text("{"),
    "manifest of another kind": lambda made: (made.path / MANIFEST).write_text("[]"),
    "no file": lambda made: next(path for path in (made.path / "blobs").rglob("*") if path.is_file()).unlink(),
    "a file": lambda made: next(path for path in (made.path / "blobs").rglob("*") if path.is_file()).write_bytes(b"other"),
    "a body": lambda made: (inside(made, "update blobs set body = x'31' where is_node = 0"), resealed(made)),
    "a node": lambda made: (inside(made, "update blobs set body = x'31' where is_node = 1"), resealed(made)),
    "a reference": lambda made: (inside(made, "delete from boots"), resealed(made)),
    "a page": lambda made: (_zero_a_page(made.path / DATABASE), resealed(made)),
}


def _zero_a_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096 * 6)
        file.write(b"\xff" * 4096)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_backup_is_refused_and_nothing_is_changed(filled: World, damage: str) -> None:
    made = filled.journal.backup()
    DAMAGE[damage](made)
    before = shows(filled)
    filled.journal.close()
    looks = sorted(path.name for path in filled.folder.iterdir())

    with pytest.raises(BackupDamaged):
        restore.restore(filled.folder, made.name)

    assert sorted(path.name for path in filled.folder.iterdir()) == looks
    filled.journal = filled._open()
    assert shows(filled) == before


def test_a_backup_of_a_newer_version_is_refused(filled: World) -> None:
    made = filled.journal.backup()
    connection = sqlite3.connect(made.path / DATABASE)
    connection.execute("pragma user_version = 99")
    connection.close()
    resealed(made)
    filled.journal.close()

    with pytest.raises(JournalNewer):
        restore.restore(filled.folder, made.name)
    filled.journal = filled._open()


def test_a_backup_of_an_older_journal_is_verified_and_put_back(tmp_path: Path) -> None:
    """Until schema 4 the parts of saved states lay in a table of their own."""
    folder = tmp_path / "journal"
    folder.mkdir()
    golden = Path(__file__).parent / "golden" / "schema_4.sql"
    connection = sqlite3.connect(folder / "journal.db")
    connection.executescript(golden.read_text(encoding="utf-8"))
    connection.close()
    shutil.copy(golden.with_suffix(".head"), folder / "journal.head")
    sound, damaged = backup.make(folder), backup.make(folder)
    inside(damaged, "update nodes set body = x'31'")
    resealed(damaged)

    with pytest.raises(BackupDamaged):
        restore.restore(folder, damaged.name)
    restore.restore(folder, sound.name)

    world = World(folder)
    (held,) = world.journal.unfinished()
    point = world.journal.resume_point(held.run_id)
    assert [point.tree.value(each) for each in point.tree.list(point.tree.value(point.root)["history"])] == ["hello"]
    world.close()


@pytest.mark.parametrize("name", ["nothing", "../backups", "", ".", "..", "/tmp", ".lock"])
def test_only_a_backup_of_this_journal_can_be_named(filled: World, name: str) -> None:
    filled.journal.backup()
    filled.journal.close()
    try:
        with pytest.raises((UnknownBackup, BackupDamaged)):
            restore.restore(filled.folder, name)
    finally:
        filled.journal = filled._open()


# -- putting back ---------------------------------------------------------------------------------


def test_a_restored_journal_is_as_it_was_and_every_unfinished_run_waits(filled: World) -> None:
    made = filled.journal.backup()
    before = shows(filled)
    for run in filled.journal.unfinished():
        filled.journal.stop_run(run.run_id, "test").result()
    filled.admit("later", "m9")

    done = restored(filled, made.name)

    assert shows(filled) == before
    unfinished = filled.journal.unfinished()
    assert done.held == len(unfinished) == 2
    assert {run.hold.reason for run in unfinished if run.hold} == {HoldReason.RESTORED}
    assert {run.state for run in unfinished} == {RunState.HELD}
    assert filled.journal.find_input("later", "m9", {"text": "please m9"}) is None


def test_a_run_of_a_restored_journal_can_be_decided_and_goes_on(filled: World) -> None:
    made = filled.journal.backup()
    restored(filled, made.name)
    run = next(run for run in filled.journal.unfinished() if run.chat_id == "running")
    call = filled.journal.calls(run.run_id)[1]

    released = filled.decide(run, Choice.CONFIRMED_COMPLETED, call)

    assert filled.claim(released).run.state is RunState.RUNNING


def test_the_former_journal_is_moved_aside_whole(filled: World) -> None:
    made = filled.journal.backup()
    extra = filled.admit("later", "m9")
    filled.done(extra, tool(1), f"later {BIG}")
    before = shows(filled)

    done = restored(filled, made.name)

    assert done.aside.parent == filled.folder
    assert stat.S_IMODE(done.aside.stat().st_mode) == 0o700
    former = World(done.aside)
    assert shows(former) == before
    former.close()
    assert sorted(path.name for path in filled.folder.iterdir() if path.name.startswith("journal.restoring")) == []


def test_a_backup_serves_more_than_once_and_stays(filled: World) -> None:
    made = filled.journal.backup()
    asides = {restored(filled, made.name).aside for _ in range(3)}

    assert len(asides) == 3
    assert backup.verify(made.path) == made.manifest


def test_what_is_done_after_a_restore_does_not_reach_the_backup(filled: World) -> None:
    made = filled.journal.backup()
    restored(filled, made.name)
    for run in filled.journal.unfinished():
        filled.journal.stop_run(run.run_id, "test").result()
    filled.done(filled.admit("new", "m7"), tool(1), f"new {BIG}")

    assert backup.verify(made.path) == made.manifest


def test_a_lost_journal_can_be_restored(filled: World) -> None:
    made = filled.journal.backup()
    before = shows(filled)
    filled.journal.close()
    (filled.folder / DATABASE).unlink()
    shutil.rmtree(filled.folder / "blobs")
    filled.journal = filled._open()

    restored(filled, made.name)

    assert shows(filled) == before


def test_a_journal_whose_unmerged_part_is_all_that_is_left_can_be_restored(filled: World, tmp_path: Path) -> None:
    made = filled.journal.backup()
    before = shows(filled)
    filled.journal.close()
    (filled.folder / DATABASE).unlink()
    (filled.folder / f"{DATABASE}-wal").write_bytes(b"what a crash left")

    done = restore.restore(filled.folder, made.name)

    filled.journal = filled._open()
    assert (done.aside / f"{DATABASE}-wal").read_bytes() == b"what a crash left"
    assert shows(filled) == before


def test_nothing_is_put_back_while_the_journal_is_in_use(filled: World) -> None:
    made = filled.journal.backup()

    with pytest.raises(StoreLocked):
        restore.restore(filled.folder, made.name)

    assert filled.journal.problem is None
    filled.admit("new", "m7")


def test_an_older_edition_is_brought_up_to_date(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    connection = sqlite3.connect(folder / DATABASE)
    connection.executescript((Path(__file__).parent / "golden" / "schema_1.sql").read_text())
    connection.close()
    made = backup.make(folder)
    assert made.manifest is not None
    assert made.manifest.schema == 1

    restore.restore(folder, made.name)

    world = World(folder)
    assert [run.hold.reason for run in world.journal.unfinished() if run.hold] == [HoldReason.RESTORED]
    world.close()


@pytest.mark.parametrize("what", ["copyfile", "copyfileobj", "sync"])
def test_a_full_disk_while_restoring_changes_nothing(filled: World, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    made = filled.journal.backup()
    before = shows(filled)
    filled.journal.close()
    free = full_disk(monkeypatch, what)

    with pytest.raises(StoreFull):
        restore.restore(filled.folder, made.name)

    free()
    assert not (filled.folder / "journal.restoring").exists()
    filled.journal = filled._open()
    assert shows(filled) == before
    restored(filled, made.name)
    assert shows(filled) == before


def test_a_look_while_a_restore_is_cut_off_does_not_say_that_there_is_nothing(filled: World) -> None:
    filled.journal.close()
    (filled.folder / switching.NOTE).write_text("{}")

    with pytest.raises(StoreLost):
        peek_unfinished(filled.folder)
    with pytest.raises(StoreLost):
        filled._open()

    (filled.folder / switching.NOTE).unlink()
    filled.journal = filled._open()


def test_a_folder_of_backups_that_cannot_be_read_is_an_error_in_our_words(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    backup.make(filled.folder)

    def failing(folder: Path) -> Any:  # a disk that fails at this very folder cannot be had here
        raise OSError(errno.EIO, "Input/output error", str(folder))

    monkeypatch.setattr(Path, "iterdir", failing)

    with pytest.raises(StoreLost, match="backups: Input/output error"):
        backup.list_all(filled.folder)
