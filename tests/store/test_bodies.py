"""Large bodies lie in files: durable before the record, stored once, verified when read, and their loss is one run's."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from journal import calls, codec
from journal.errors import CheckpointCorrupt, RecordCorrupt, StoreFull
from journal.records import Outcome, Run, RunState
from journal.store import bodies
from journal.store.bodies import LARGE, Bodies
from tests.store.worlds import World, tool

BIG = "x" * (LARGE + 1)


def files(world: World) -> list[Path]:
    return sorted(path for path in (world.folder / "blobs").rglob("*") if path.is_file())


def finished_with(world: World, chat: str, value: str) -> Run:
    run = world.admit(chat, f"m of {chat}")
    world.done(run, tool(1), value)
    return run


def test_a_large_result_lies_in_a_private_file_and_not_in_the_database(world: World) -> None:
    before = os.umask(0)
    try:
        run = finished_with(world, "chat", BIG)
    finally:
        os.umask(before)

    (file,) = files(world)
    assert world.journal.calls(run.run_id)[0].value == BIG
    assert file.name == codec.digest(file.read_bytes())
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)] == [0o600, 0o700, 0o700]
    world.restart()
    assert (world.folder / "journal.db").stat().st_size < LARGE + 200_000
    assert world.journal.calls(run.run_id)[0].value == BIG


def test_a_small_one_makes_no_file(world: World) -> None:
    finished_with(world, "chat", "x" * (LARGE - 100))

    assert files(world) == []


def test_every_kind_of_large_body_comes_back(world: World) -> None:
    content = {"text": f"message {BIG}"}
    run = world.admit(content=content)
    world.journal.keep_input(run.run_id, "x", {"text": f"kept {BIG}"}).result()
    call = world.opened(run, tool(1), arguments={"code": f"arguments {BIG}"}, extra={"more": f"extra {BIG}"})
    world.journal.finish_call(call.call_id, Outcome.OK, f"value {BIG}", extra={"left": f"leavings {BIG}"}).result()
    world.journal.checkpoint(run.run_id, run.token, world.point(history=(f"history {BIG}",)), []).result()
    world.restart()

    (found,) = world.journal.calls(run.run_id)
    assert world.journal.run(run.run_id).input == content
    assert world.journal.waiting("chat")[0].content == {"text": f"kept {BIG}"}
    assert (found.arguments, found.value) == ({"code": f"arguments {BIG}"}, f"value {BIG}")
    assert found.extra == {"more": f"extra {BIG}", "left": f"leavings {BIG}"}
    point = world.journal.resume_point(run.run_id)
    assert [point.tree.value(each) for each in point.tree.list(point.tree.value(point.root)["history"])] == [f"history {BIG}"]
    claim = world.claim(world.journal.settle(run.run_id, None).result())
    world.journal.close_run(run.run_id, claim.token, RunState.COMPLETED, f"answer {BIG}", world.point(), []).result()
    assert world.journal.run(run.run_id).answer == f"answer {BIG}"
    assert len(files(world)) == 8


def test_the_same_content_is_one_file_and_is_not_written_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    finished_with(world, "one", BIG)
    (file,) = files(world)
    before = file.stat()
    monkeypatch.setattr(bodies, "write_whole", lambda *told: pytest.fail("written twice"))

    finished_with(world, "two", BIG)
    world.restart()
    finished_with(world, "three", BIG)

    assert files(world) == [file]
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("value", ["small", BIG], ids=["in the database", "in a file"])
def test_a_result_whose_bytes_were_damaged_since_is_saved_again_and_not_lost(world: World, value: str) -> None:
    """A step that is done again often has the same result: it must not be found in the bytes that could not be read."""
    first = finished_with(world, "one", value)
    digest = codec.body(value).digest
    if value is BIG:
        (file,) = files(world)
        file.write_bytes(b"?" * file.stat().st_size)
    else:
        with closing(sqlite3.connect(world.folder / "journal.db")) as connection, connection:
            connection.execute("update blobs set body = x'7b7d' where digest = ?", [digest])
    world.restart()
    with pytest.raises(RecordCorrupt):
        world.journal.calls(first.run_id)

    second = finished_with(world, "two", value)

    assert world.journal.calls(second.run_id)[0].value == value


@pytest.mark.parametrize("part_first", [False, True])
@pytest.mark.parametrize("value", ["small", BIG], ids=["in the database", "in a file"])
def test_content_that_was_damaged_since_is_put_right_by_whoever_names_it_next(world: World, value: str, part_first: bool) -> None:
    """A value and a part of a saved state with the same content are one body: either way of naming it heals it for both."""
    digest = codec.body(value).digest
    run = world.admit("chat", "m")

    def name(*, as_part: bool) -> None:
        if as_part:
            world.journal.checkpoint(run.run_id, run.token, world.point(history=(value,)), []).result()
        else:
            world.done(run, tool(1), value)

    name(as_part=part_first)
    if value is BIG:
        (file,) = files(world)
        file.write_bytes(b"?" * file.stat().st_size)
    with closing(sqlite3.connect(world.folder / "journal.db")) as connection, connection:
        if value is not BIG:
            connection.execute("update blobs set body = x'7b7d' where digest = ?", [digest])
        before = connection.execute("select body from blobs where digest = ?", [digest]).fetchone()[0]
    name(as_part=not part_first)

    point = world.journal.resume_point(run.run_id)
    assert world.journal.calls(run.run_id)[0].value == value
    assert [point.tree.value(each) for each in point.tree.list(point.tree.value(point.root)["history"])] == [value]
    with closing(sqlite3.connect(world.folder / "journal.db")) as connection:
        rows = connection.execute("select body, is_node from blobs where digest = ?", [digest]).fetchall()
    assert [mark for _, mark in rows] == [1]
    assert (rows[0][0] == before) is (value is BIG)  # a stub stays


def test_many_threads_keep_the_same_content(tmp_path: Path) -> None:
    kept = Bodies(tmp_path)
    data = BIG.encode()
    digest = codec.digest(data)

    with ThreadPoolExecutor(8) as pool:
        all_kept = list(pool.map(lambda number: kept.keep([(digest, data)]), range(40)))

    assert {stub for each in all_kept for stub in each.stubs.values()} == {all_kept[0].stubs[digest]}
    for each in all_kept:
        each.release()
        each.release()
    assert kept.read(all_kept[0].stubs[digest]) == data


def test_the_file_and_its_folder_are_synced_before_the_record_is_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    synced, renamed, submit, here = os.fsync, Path.rename, world.journal._store.submit, threading.get_ident()

    def sync(file: int) -> None:
        if threading.get_ident() == here:  # the writer thread has files of its own to sync
            order.append(f"sync {'folder' if stat.S_ISDIR(os.fstat(file).st_mode) else 'file'}")
        synced(file)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", lambda path, to: (order.append("rename"), renamed(path, to))[1])
    call = world.opened(world.admit(), tool(1))
    monkeypatch.setattr(world.journal._store, "submit", lambda *told, **more: (order.append("record"), submit(*told, **more))[1])
    order.clear()

    world.journal.finish_call(call.call_id, Outcome.OK, BIG).result()

    at = order.index("record")
    assert order[:at][-3:] == ["sync file", "rename", "sync folder"]


@pytest.mark.parametrize("damage", ["missing", "changed", "shorter", "a folder", "a link", "unreadable"])
def test_the_loss_of_a_file_is_the_loss_of_its_own_run_alone(world: World, damage: str) -> None:
    broken, sound = finished_with(world, "broken", BIG), finished_with(world, "sound", f"{BIG} other")
    file = next(path for path in files(world) if b"other" not in path.read_bytes())
    match damage:
        case "missing":
            file.unlink()
        case "changed":
            file.write_bytes(file.read_bytes()[:-1] + b"y")
        case "shorter":
            file.write_bytes(b"")
        case "a folder":
            file.unlink()
            file.mkdir()
        case "a link":
            file.rename(file.with_name("elsewhere"))
            file.symlink_to("elsewhere")
        case "unreadable":
            shutil.rmtree(file.parent)
            file.parent.write_bytes(b"")
    world.restart()

    with pytest.raises(RecordCorrupt):
        world.journal.calls(broken.run_id)
    assert world.journal.calls(sound.run_id)[0].value == f"{BIG} other"
    assert [run.run_id for run in world.journal.unfinished()] == [broken.run_id, sound.run_id]
    assert [run["run_id"] for run in world.journal.listing("all")["items"]] == [sound.run_id, broken.run_id]
    assert world.journal.run_view(broken.run_id)["run"]["reason"]["code"] == "checkpoint_corrupt"


def test_a_lost_part_of_a_saved_state_is_corrupt_and_no_shorter_history(world: World) -> None:
    run = world.admit()
    world.journal.checkpoint(run.run_id, run.token, world.point(history=(BIG,)), []).result()
    (file,) = files(world)
    file.unlink()

    point = world.journal.resume_point(run.run_id)
    (item,) = point.tree.list(point.tree.value(point.root)["history"])
    with pytest.raises(CheckpointCorrupt):
        point.tree.value(item)


def test_a_full_disk_fails_the_operation_before_it_is_queued_and_the_next_try_works(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    call = world.opened(world.admit(), tool(1))
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda *told: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        refused = world.journal.finish_call(call.call_id, Outcome.OK, BIG)
        assert isinstance(refused.exception(), StoreFull)
        assert files(world) == []
        assert world.journal.calls(call.run_id)[0].outcome is None

    assert world.journal.finish_call(call.call_id, Outcome.OK, BIG).result().value == BIG


def test_a_decision_about_a_large_result_keeps_it_as_evidence(world: World) -> None:
    """Inside the transaction of the decision the body is named again; it does not come into the database by that."""
    run = world.admit()
    call = world.done(run, tool(1), BIG)

    world.journal._write(lambda scribe: calls.set_result_aside(scribe, call)).result()

    stored = world.journal._store.read(lambda tx: tx._connection.execute("select max(length(body)) as most from blobs").fetchone())  # type: ignore[attr-defined]
    assert stored["most"] < LARGE
    assert len(files(world)) == 1


def test_what_is_in_flight_is_not_removed(tmp_path: Path) -> None:
    kept = Bodies(tmp_path)
    data = BIG.encode()
    digest = codec.digest(data)
    flight = kept.keep([(digest, data)])
    leftover = kept.of(digest)
    assert leftover is not None

    assert kept.remove(leftover, lambda name: False) == 0
    flight.release()
    assert kept.remove(leftover, lambda name: True) == 0
    assert kept.remove(leftover, lambda name: False) == len(data)
    assert kept.remove(leftover, lambda name: False) == 0


def test_whoever_keeps_a_body_while_it_is_removed_writes_it_again(tmp_path: Path) -> None:
    kept = Bodies(tmp_path)
    data = BIG.encode()
    digest = codec.digest(data)
    kept.keep([(digest, data)]).release()
    leftover = kept.of(digest)
    assert leftover is not None
    begun = threading.Event()
    keeping = threading.Thread(target=lambda: (begun.wait(), kept.keep([(digest, data)])))
    keeping.start()

    def is_named(name: str) -> bool:
        begun.set()  # the other one is let go in the middle of the removal, and has to wait for its end
        keeping.join(0.2)
        return False

    kept.remove(leftover, is_named)
    keeping.join()

    assert kept.of(digest) is not None
