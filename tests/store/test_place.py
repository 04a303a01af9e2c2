"""Where a journal may lie, what it keeps in reserve there, and what happens on a disk that is really full."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal.errors import StoreFull, UnsafeFileSystem
from journal.records import HoldReason, Outcome, RunState
from journal.store import filesystems, reserve
from journal.store.filesystems import Mode, Place, kind_of, place_of
from journal.store.sqlite import SqliteStore
from tests.store.contract import StoreContract, put
from tests.store.worlds import MODE, World, model, tool

# Lines as the kernel writes them: a container with a bind mount from a desktop host, one on a NAS, one without any volume.
DESKTOP = """\
588 480 0:62 / / rw,relatime master:207 - overlay overlay rw,lowerdir=/var/lib/l/A:/var/lib/l/B,upperdir=/var/lib/u,workdir=/var/lib/w
589 588 0:66 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
590 588 0:67 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
601 588 0:41 /Users/ada/agent\\040zero /a0/usr rw,relatime shared:3 master:9 - virtiofs virtiofs0 rw
602 588 254:1 /docker/volumes/x/_data /a0/usr/plugin_data rw,relatime master:1 - ext4 /dev/vda1 rw
603 588 0:42 / /srv/with\\040space rw - fuse.sshfs ada@example:/ rw,user_id=0
604 588 0:43 / /windows rw,relatime - 9p drvfs rw,dirsync,aname=drvfs
605 588 0:44 / /nas rw,relatime - nfs4 nas:/volume1 rw,vers=4.1
606 588 0:45 / /share rw,relatime - cifs //nas/share rw,vers=3.1.1
607 588 0:46 / /unraid rw,relatime - fuse.shfs shfs rw
608 588 0:47 / /new rw,relatime - bcachefs /dev/sdb rw
609 588 0:48 / /twice rw,relatime - nfs nas:/a rw
610 588 0:49 / /twice rw,relatime - ext4 /dev/sdc rw
half a line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/x", "overlay"),
        ("/a0/usr/chats", "virtiofs"),
        ("/a0/usr/plugin_data/durable_execution", "ext4"),
        ("/a0/usr-other", "overlay"),
        ("/srv/with space/journal", "fuse.sshfs"),
        ("/srv/with", "overlay"),
        ("/dev/shm", "tmpfs"),
        ("/twice/x", "ext4"),
        ("/", "overlay"),
    ],
)
def test_a_folder_lies_on_the_mount_with_the_longest_path(path: str, kind: str) -> None:
    assert kind_of(DESKTOP, Path(path)) == kind


def test_an_unknown_list_of_mounts_is_no_reason_to_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystems, "MOUNTS", tmp_path / "nowhere")

    assert place_of(tmp_path) == Place(tmp_path, "")
    assert kind_of("", Path("/x")) == ""


@pytest.mark.parametrize("path", ["/a0/usr/x", "/windows/x", "/unraid/x"])
def test_no_log_where_shared_memory_is_doubtful(path: str) -> None:
    place = Place(Path(path), kind_of(DESKTOP, Path(path)))

    place.check()
    assert place.mode is Mode.ROLLBACK
    assert [place.kind in note and path in note for note in place.notes] == [True]


@pytest.mark.parametrize(("path", "kind"), [("/nas/x", "nfs4"), ("/share/x", "cifs"), ("/srv/with space/x", "fuse.sshfs")])
def test_a_network_file_system_is_refused_by_name(path: str, kind: str) -> None:
    with pytest.raises(UnsafeFileSystem) as refusal:
        Place(Path(path), kind_of(DESKTOP, Path(path))).check()

    assert (refusal.value.kind, refusal.value.folder) == (kind, path)
    assert kind in str(refusal.value)
    assert path in str(refusal.value)
    assert "local disk or a named volume" in str(refusal.value)


def test_a_refused_place_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - nfs4 nas:/ rw\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)

    with pytest.raises(UnsafeFileSystem):
        SqliteStore(tmp_path / "deep" / "journal", 1)

    assert sorted(tmp_path.iterdir()) == [mounts]


@pytest.mark.parametrize("kind", ["overlay", "tmpfs"])
def test_a_place_that_dies_is_said_once_and_used(kind: str) -> None:
    place = Place(Path("/x"), kind)

    assert place.mode is Mode.WAL
    assert len(place.notes) == 1
    assert "is lost" in place.notes[0]


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "bcachefs", ""])
def test_a_disk_needs_no_words(kind: str) -> None:
    assert Place(Path("/x"), kind).notes == []


# -- without a write-ahead log ------------------------------------------------------------------------


@pytest.fixture
def without_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says that everything below lies on a share of a desktop host. The share itself cannot be had here."""
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - virtiofs virtiofs0 rw\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)


class TestWithoutLog(StoreContract):
    """The same promises."""

    @pytest.fixture
    def open_store(self, tmp_path: Path, without_log: None) -> object:
        return lambda: SqliteStore(tmp_path / "journal", 1)

    def test_a_read_sees_one_state_while_others_write(self, store: SqliteStore) -> None:  # type: ignore[override]
        """A read that waits for a write is forbidden by the promises; here it would wait for itself."""
        assert store.submit(put("x")).result() == 1


def test_a_journal_moved_to_a_share_and_back_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also right after a crash, with a log that was not merged."""
    here = World(tmp_path / "here")
    run = here.admit()
    here.done(run, model(1))
    share = tmp_path / "share"
    subprocess.run(["cp", "-r", str(here.folder), str(share)], check=True)
    here.close()
    assert (share / "journal.db-wal").stat().st_size > 0
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - 9p drvfs rw\n")
    with monkeypatch.context() as there:
        there.setattr(filesystems, "MOUNTS", mounts)
        world = World(share)
        world.done(run, tool(1))
        assert not (share / "journal.db-wal").exists()
        assert (world.journal.restored, len(world.journal.notes)) == (None, 1)
        world.close()

    world = World(share)

    assert (share / "journal.db-wal").exists()
    assert [call.outcome for call in world.journal.calls(run.run_id)] == [Outcome.OK, Outcome.OK]
    world.close()


def test_a_write_that_was_cut_off_is_undone(tmp_path: Path, without_log: None) -> None:
    store = SqliteStore(tmp_path / "journal", 1)
    store.submit(put("before")).result()
    store.close()
    connection = sqlite3.connect(tmp_path / "journal" / "journal.db", isolation_level=None)
    connection.execute("pragma cache_size = 1")
    connection.execute("begin immediate")
    for number in range(300):
        connection.execute("insert into blobs (digest, body) values (?, ?)", (f"half {number}", b"x" * 3000))
    crashed = tmp_path / "crashed"
    subprocess.run(["cp", "-r", str(tmp_path / "journal"), str(crashed)], check=True)
    connection.execute("rollback")
    connection.close()
    assert (crashed / "journal.db-journal").stat().st_size > 0

    store = SqliteStore(crashed, 1)

    assert store.read(lambda tx: tx.one("has_node", digest="before")) is not None
    assert store.read(lambda tx: tx.one("has_node", digest="half 1")) is None
    assert store.restored is None
    store.close()


# -- the reserve, on a disk that is full --------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own: a tmpfs of 12 MiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(mount)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a small disk needs the right to mount one: {done.stderr.strip()}")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def fill(disk: Path) -> Path:
    """Not one byte is left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    assert os.statvfs(disk).f_bavail == 0
    return ballast


def test_the_reserve_is_really_kept(disk: Path) -> None:
    store = SqliteStore(disk / "journal", 1)
    kept = (disk / "journal" / reserve.NAME).stat()
    store.close()

    assert kept.st_size == reserve.SIZE
    assert kept.st_blocks * 512 >= reserve.SIZE


def test_on_a_full_disk_what_runs_is_saved_and_nothing_new_begins(disk: Path) -> None:
    world = World(disk / "journal")
    run = world.admit()
    call = world.opened(run, tool(1))
    held = world.run_in(RunState.HELD, "held")
    ballast = fill(disk)

    saved = world.journal.finish_call(call.call_id, Outcome.OK, {"message": "x" * 700_000}).result()
    with pytest.raises(StoreFull) as refusal:
        world.admit("another")

    assert saved.outcome is Outcome.OK
    assert "new runs wait" in str(refusal.value)
    assert "new runs wait" in str(world.journal.problem)
    assert not (world.folder / reserve.NAME).exists()
    assert world.admit("chat", "m1").run_id == run.run_id  # the same message again is no new run
    world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}), []).result()
    assert world.journal.hold_run(run.run_id, HoldReason.ASK).result().state is RunState.HELD
    assert world.journal.stop_run(held.run_id, "me").result().state is RunState.STOPPED

    ballast.unlink()

    assert world.admit("another").state is RunState.RUNNING
    assert world.journal.problem is None
    assert (world.folder / reserve.NAME).stat().st_size == reserve.SIZE
    world.restart()
    assert world.journal.restored is None
    assert world.journal.calls(run.run_id)[0].value == {"message": "x" * 700_000}
    world.close()


def test_a_message_that_meets_the_full_disk_is_refused_and_its_neighbours_are_saved(disk: Path) -> None:
    world = World(disk / "journal")
    run = world.admit()
    call = world.opened(run, tool(1))
    fill(disk)

    new = world.journal.admit("another", "m", {"text": "x" * 500_000}, "T", MODE, world.point())
    result = world.journal.finish_call(call.call_id, Outcome.OK, "x" * 500_000)

    assert result.result().outcome is Outcome.OK
    assert isinstance(new.exception(), StoreFull)
    assert [each.chat_id for each in world.journal.unfinished()] == ["chat"]
    world.close()


def test_a_journal_is_opened_on_a_full_disk(disk: Path) -> None:
    world = World(disk / "journal")
    run = world.admit()
    world.close()
    (disk / "journal" / reserve.NAME).unlink()
    ballast = fill(disk)
    ballast.write_bytes(bytes(ballast.stat().st_size - 300_000))

    world = World(disk / "journal")

    assert world.recover(run).state is RunState.QUEUED
    with pytest.raises(StoreFull):
        world.admit("another")
    world.close()
