"""The files of the journal come back damaged: the log cut anywhere, pages torn or zeroed, any record changed."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from journal import codec
from journal.errors import Corrupt, JournalError
from journal.records import Run, RunState
from journal.store.sqlite import SqliteStore
from tests.store.contract import has, put
from tests.store.test_damage import is_unharmed, read_everything
from tests.store.worlds import NOTHING, World, model, tool

Tally = Callable[[str, int, int], None]
PAGE = 4096
FRAME = PAGE + 24


def crashed(tmp_path: Path) -> tuple[Path, bytes, int]:
    """A journal as a kill leaves it, its log, and where the last frame of the log begins."""
    folder, copy = tmp_path / "journal", tmp_path / "crashed"
    store = SqliteStore(folder, 1)
    for number in range(4):
        store.submit(put(f"{number}")).result()
    shutil.copytree(folder, copy)
    store.close()
    (copy / "journal.db-shm").unlink()
    wal = (copy / "journal.db-wal").read_bytes()
    return copy, wal, len(wal) - FRAME


def opens_with(copy: Path, case: Path, wal: bytes) -> list[bool]:
    shutil.copytree(copy, case)
    (case / "journal.db-wal").write_bytes(wal)
    store = SqliteStore(case, 1)
    found = [has(store, f"{number}") for number in range(4)]
    store.submit(put("after")).result()
    store.close()
    shutil.rmtree(case)
    return found


def test_the_log_is_cut_at_every_byte_of_its_last_frame(tmp_path: Path, tally: Tally) -> None:
    copy, wal, start = crashed(tmp_path)
    for cut in range(start, len(wal)):
        assert opens_with(copy, tmp_path / "case", wal[:cut]) == [True, True, True, False], cut
    assert opens_with(copy, tmp_path / "case", wal) == [True] * 4

    tally("WAL cuts", len(wal) - start, FRAME)


def test_garbage_follows_a_log_that_is_cut_at_every_byte_of_its_last_frame(tmp_path: Path, tally: Tally) -> None:
    copy, wal, start = crashed(tmp_path)
    chance = random.Random(5)
    for cut in range(start, len(wal)):
        rest = max(1, FRAME - (cut - start))
        garbage = {
            0: chance.randbytes(rest + chance.randrange(2 * FRAME)),
            1: bytes(rest),
            2: wal[32 : 32 + 2 * FRAME],  # an older frame, whole, where it does not belong
        }[cut % 3]
        found = opens_with(copy, tmp_path / "case", wal[:cut] + garbage)
        assert found in ([True, True, True, False], [True] * 4), cut
        assert found[3] is (wal[cut : start + FRAME] == garbage[: start + FRAME - cut]), cut

    tally("WAL cuts with garbage after them", len(wal) - start, FRAME)


# -- pages ----------------------------------------------------------------------------------------


def lived_in(folder: Path) -> World:
    """Chats in every state, with everything that a record can hold."""
    world = World(folder)
    for chat in ("one", "two"):
        run = world.admit(chat)
        world.done(run, model(1), {"response": "x" * 9000, "bytes": b"\xff" * 100})
        world.opened(run, tool(1), arguments={"code": chat})
        world.journal.keep_input(run.run_id, "waiting", {"text": "w"}).result()
        world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}, ("a" * 5000, "b", chat)), []).result()
    for number in range(20):
        run = world.admit("done", f"m{number}")
        world.done(run, model(1), f"answer {number}" * 50)
        world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, f"answer {number}", world.point(), []).result()
    return world


def everything(world: World) -> dict[str, Any]:
    """All that a user can learn. Raises Corrupt where something cannot be read."""
    found: dict[str, Any] = {}
    for chat in ("one", "two", "done"):
        for run in world.journal.runs_of(chat):
            if run.damaged:
                raise Corrupt(run.damaged)
            point = world.journal.resume_point(run.run_id)
            read_everything(point.tree, point.root)
            world.journal.run_view(run.run_id)
            world.journal.classify(run.run_id, lambda call: NOTHING)
            found[run.run_id] = (run, world.journal.calls(run.run_id), point.root, point.position, world.journal.inputs(run.run_id))
    found["waiting"] = world.journal.all_waiting()
    return found


DAMAGE: dict[str, Callable[[bytes, bytes, random.Random], bytes]] = {
    "zeroed": lambda page, older, chance: bytes(PAGE),
    "torn in the middle": lambda page, older, chance: page[: PAGE // 2] + bytes(PAGE // 2),
    "torn, beginning lost": lambda page, older, chance: bytes(PAGE // 2) + page[PAGE // 2 :],
    "one sector lost": lambda page, older, chance: _without_sector(page, chance.randrange(8)),
    "garbage": lambda page, older, chance: chance.randbytes(PAGE),
    "another page in its place": lambda page, older, chance: older,
}


def _without_sector(page: bytes, at: int) -> bytes:
    return page[: at * 512] + bytes(512) + page[(at + 1) * 512 :]


def test_every_page_is_torn_zeroed_or_another(tmp_path: Path, tally: Tally) -> None:
    world = lived_in(tmp_path / "journal")
    truth = everything(world)
    world.close()
    original = (tmp_path / "journal" / "journal.db").read_bytes()
    chance = random.Random(11)
    pages, silent, tried = len(original) // PAGE, [], 0
    for number in range(pages):
        page, other = (original[at * PAGE : (at + 1) * PAGE] for at in (number, (number + 7) % pages))
        for name, damage in DAMAGE.items():
            changed = damage(page, other, chance)
            if changed == page:
                continue
            tried += 1
            case = tmp_path / "case"
            shutil.copytree(tmp_path / "journal", case)
            (case / "journal.db").write_bytes(original[: number * PAGE] + changed + original[(number + 1) * PAGE :])
            if not (_is_said(case, truth)):
                silent.append(f"page {number} {name}")
                assert not is_whole(case / "journal.db"), silent[-1]
            shutil.rmtree(case)

    # A page of an index that lost rows is not noticed in passing; the check of the whole file finds it.
    tally(f"Damaged pages ({len(silent)} said by the check of the whole file alone)", tried, tried)
    assert len(silent) < tried // 50, silent


def is_whole(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return bool(connection.execute("pragma integrity_check").fetchall() == [("ok",)])
    finally:
        connection.close()


def _is_said(case: Path, truth: dict[str, Any]) -> bool:
    """Everything is as it was, or an error of our own says that something is not."""
    try:
        world = World(case)
    except JournalError:
        return True
    try:
        return everything(world) == truth
    except JournalError:
        return True
    finally:
        world.close()


# -- records --------------------------------------------------------------------------------------


def test_every_record_is_changed_and_closes_its_own_chat_alone(tmp_path: Path, tally: Tally) -> None:
    """A checkpoint, a node, a body: one byte differs, and the other chat goes on as if nothing were wrong."""
    world = World(tmp_path / "journal")
    broken: Run = world.admit("broken", content={"text": "broken"})
    world.done(broken, model(1), {"response": "broken " * 50})
    world.opened(broken, tool(1), arguments={"code": "broken"})
    sound = world.admit("sound", "m2", content={"text": "sound"})
    world.opened(sound, tool(1), arguments={"code": "sound"})
    world.journal.checkpoint(broken.run_id, broken.token, world.point({"A0": 1}, ("broken 1", "broken 2")), []).result()
    world.journal.checkpoint(sound.run_id, sound.token, world.point({"A0": 2}, ("sound 1",)), []).result()
    mine = _records(world, broken) - _records(world, sound)
    world.close()
    assert len(mine) > 8

    for table, column, key, name in sorted(mine):
        for change in ("flipped", "shorter", "empty", "longer"):
            case = tmp_path / "case"
            shutil.copytree(tmp_path / "journal", case)
            _change(case / "journal.db", table, column, key, name, change)
            world = World(case)
            try:
                assert _cannot_be_read(world, broken), (table, name, change)
                is_unharmed(world)
            finally:
                world.close()
            shutil.rmtree(case)

    tally("Changed records", len(mine) * 4, len(mine) * 4)


def _records(world: World, run: Run) -> set[tuple[str, str, str, str]]:
    """Where each body lies that a run needs: table, column, and the row by its key."""
    point = world.journal.resume_point(run.run_id)
    history = point.tree.value(point.root)["history"]
    nodes = {history, *point.tree.list(history)}
    calls = world.journal.calls(run.run_id)
    values = [call.value for call in calls if call.outcome] + [call.arguments for call in calls] + [run.input]
    bodies = {codec.body(value).digest for value in values}
    return (
        {("blobs", "body", "digest", name) for name in nodes}
        | {("blobs", "body", "digest", name) for name in bodies}
        | {("checkpoints", column, "seq", str(point.seq)) for column in ("position", "seal", "root", "body")}
    )


def _change(path: Path, table: str, column: str, key: str, name: str, change: str) -> None:
    connection = sqlite3.connect(path)
    (value,) = connection.execute(f"select {column} from {table} where {key} = ?", (name,)).fetchone()
    data = value.encode() if isinstance(value, str) else value
    changed = {
        "flipped": bytes([data[0] ^ 1]) + data[1:],
        "shorter": data[:-1],
        "empty": b"",
        "longer": data + b" ",
    }[change]
    new = changed.decode() if isinstance(value, str) else changed
    assert connection.execute(f"update {table} set {column} = ? where {key} = ?", (new, name)).rowcount == 1
    connection.commit()
    connection.close()


def _cannot_be_read(world: World, run: Run) -> bool:
    try:
        if world.journal.run(run.run_id).damaged:
            return True
        world.journal.calls(run.run_id)
        point = world.journal.resume_point(run.run_id)
        read_everything(point.tree, point.root)
    except Corrupt:
        return True
    return False
