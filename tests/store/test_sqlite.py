"""SQLite keeps the promises, and what only it has: files, ownership, disks that fail."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from journal.errors import JournalDamaged, JournalForeign, JournalNewer, StoreClosed, StoreFull, StoreLocked, StoreLost
from journal.look import peek_unfinished
from journal.records import RunState
from journal.store import handle, reserve, writer
from journal.store.base import Store
from journal.store.sqlite import SqliteStore
from tests.store.contract import Gate, StoreContract, committed, has, put
from tests.store.worlds import World, model

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS_OF_A_SLOW_MACHINE = 240  # a minute: what holds the lock for a moment is a process that may get no processor


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(tmp_path / "journal", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "journal"


@pytest.fixture
def store(folder: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(folder, 1)
    yield store
    store.close()


@contextmanager
def child(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another Python process with the checkout on its path; killed at the end. It says `ready` when it is."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{program}"
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


WAIT = "print('ready', flush=True)\nsys.stdin.readline()\n"
OWN = f"""from pathlib import Path
from journal.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]), 1)
store.submit(lambda tx: tx.one("head")).result()
{WAIT}"""
LOCK = f"""import sqlite3
sqlite = sqlite3.connect(sys.argv[1], isolation_level=None)
sqlite.execute("begin immediate")
{WAIT}"""


# -- files ----------------------------------------------------------------------------------------


def test_folder_and_files_are_the_owners_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(folder, 1)
        store.submit(put("x")).result()
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        store.close()
        modes |= {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(before)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = ["journal.db", "journal.db-shm", "journal.db-wal", "journal.head", "journal.lock", "journal.reserve"]
    assert modes == dict.fromkeys(names, 0o600)


def test_a_journal_that_became_readable_is_made_private_again(folder: Path) -> None:
    SqliteStore(folder, 1).close()
    folder.chmod(0o755)
    (folder / "journal.db").chmod(0o644)

    SqliteStore(folder, 1).close()

    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE((folder / "journal.db").stat().st_mode)) == (0o700, 0o600)


def test_the_connections_are_set_up_as_promised(store: SqliteStore) -> None:
    def pragmas(connection: sqlite3.Connection) -> dict[str, Any]:
        names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "wal_autocheckpoint", "query_only")
        return {name: next(iter(connection.execute(f"pragma {name}").fetchone().values())) for name in names}

    assert store._handle.connection is not None
    writer = pragmas(store._handle.connection)
    reader = store.read(lambda tx: pragmas(tx._connection))  # type: ignore[attr-defined]

    common = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "wal_autocheckpoint": 0}
    assert writer == common | {"query_only": 0}
    assert reader == common | {"query_only": 1}


def test_every_table_is_strict(store: SqliteStore) -> None:
    assert store._handle.connection is not None
    tables = store._handle.connection.execute(
        "select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%'"
    ).fetchall()

    assert len(tables) > 15
    assert [table["name"] for table in tables if not table["strict"]] == []


def test_half_a_new_journal_is_made_again(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("journal.db.new", "journal.db.new-journal"):
        (folder / name).write_bytes(b"left over by a crash")

    store = SqliteStore(folder, 1)
    store.submit(put("x")).result()
    store.close()

    assert sorted(path.name for path in folder.iterdir()) == ["journal.db", "journal.head", "journal.lock", "journal.reserve"]


def foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.execute("create table theirs (x)")
    connection.commit()
    connection.close()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("not a database, but long enough to be read as a header " * 50),
    "short": lambda path: path.write_bytes(b"x"),
    "empty": lambda path: path.write_bytes(b""),
    "database": foreign_database,
    "folder": lambda path: path.mkdir(),
    "link": lambda path: path.symlink_to("/dev/null"),
    "dangling link": lambda path: path.symlink_to("nowhere"),
}


def looks(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content = path.read_bytes() if path.is_file() else None
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, content


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_not_ours_is_refused_and_not_touched(folder: Path, kind: str) -> None:
    folder.mkdir(parents=True)
    journal = folder / "journal.db"
    FOREIGN[kind](journal)
    before = looks(journal)

    with pytest.raises(JournalForeign):
        SqliteStore(folder, 1)

    assert looks(journal) == before
    assert sorted(path.name for path in folder.iterdir()) == ["journal.db", "journal.lock"]


def test_a_newer_journal_is_refused_and_not_touched(folder: Path) -> None:
    SqliteStore(folder, 1).close()
    connection = sqlite3.connect(folder / "journal.db")
    connection.execute("pragma user_version = 99")
    connection.commit()
    connection.close()
    before = (folder / "journal.db").read_bytes()

    with pytest.raises(JournalNewer) as refusal:
        SqliteStore(folder, 1)

    assert refusal.value.found == 99
    assert (folder / "journal.db").read_bytes() == before


def test_a_journal_that_vanished_is_a_loss_and_not_a_beginning(folder: Path) -> None:
    with child(OWN, folder) as owner:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    assert (folder / "journal.db-wal").stat().st_size > 0
    (folder / "journal.db").unlink()

    with pytest.raises(StoreLost):
        SqliteStore(folder, 1)

    assert not (folder / "journal.db").exists()


@pytest.mark.parametrize("name", ["journal.db", "journal.db-wal", "journal.lock"])
@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_a_file_that_is_changed_under_the_open_journal_closes_it(folder: Path, name: str, replaced: bool) -> None:
    store = SqliteStore(folder, 1)
    store.submit(put("x")).result()
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if replaced:
        path.write_bytes(content)

    for _ in range(2):
        assert isinstance(store.submit(put("y")).exception(), StoreLost)
    with pytest.raises(StoreLost):
        has(store, "x")
    assert name in str(store.problem)
    store.close()


# -- ownership ------------------------------------------------------------------------------------


def test_a_second_owner_is_refused_at_once(store: SqliteStore, folder: Path) -> None:
    with pytest.raises(StoreLocked):
        SqliteStore(folder, 1)

    assert store.submit(put("x")).result() == 1


def test_another_process_is_refused_until_the_owner_is_gone(folder: Path) -> None:
    with child(OWN, folder) as owner:
        with pytest.raises(StoreLocked):
            SqliteStore(folder, 1)
        owner.send_signal(signal.SIGKILL)
        owner.wait()

        SqliteStore(folder, 1).close()


def test_a_failed_opening_lets_go_of_the_lock(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "journal.db").write_bytes(b"foreign")
    with pytest.raises(JournalForeign):
        SqliteStore(folder, 1)
    (folder / "journal.db").unlink()

    SqliteStore(folder, 1).close()


def test_a_forked_child_neither_keeps_the_lock_nor_writes(folder: Path) -> None:
    store = SqliteStore(folder, 1)
    store.submit(put("x")).result()
    hold_read, hold_write = os.pipe()
    said_read, said_write = os.pipe()
    pid = os.fork()
    if pid == 0:  # the child: says what the store answered, then lives until the parent lets go
        os.close(hold_write)
        answer = store.submit(put("from the child")).exception()
        store.close()
        os.write(said_write, type(answer).__name__.encode())
        os.read(hold_read, 1)
        os._exit(0)
    os.close(said_write)
    try:
        assert os.read(said_read, 100) == StoreClosed.__name__.encode()
        assert store.submit(put("y")).result() == 1
        store.close()
        again = SqliteStore(folder, 1)
        assert [has(again, name) for name in ("x", "y", "from the child")] == [True, True, False]
        again.close()
    finally:
        os.write(hold_write, b"x")
        os.waitpid(pid, 0)
        for end in (hold_read, hold_write, said_read):
            os.close(end)


OWN_AND_FORK = f"""import os
from pathlib import Path
from journal.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]), 1)
child = os.fork()
if child:
    os.waitpid(child, 0)
{WAIT}"""


def test_a_child_that_outlives_a_killed_owner_does_not_keep_the_lock(folder: Path) -> None:
    with child(OWN_AND_FORK, folder) as owner:
        owner.send_signal(signal.SIGKILL)
        owner.wait()

        SqliteStore(folder, 1).close()

        owner.communicate("the child ends\n")


def test_a_started_program_does_not_keep_the_lock(folder: Path) -> None:
    store = SqliteStore(folder, 1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as program:
        store.close()
        SqliteStore(folder, 1).close()
        program.communicate(b"\n")


# -- trouble --------------------------------------------------------------------------------------


def test_while_another_process_holds_the_file_writes_wait_then_say_why(store: SqliteStore, folder: Path) -> None:
    with child(LOCK, folder / "journal.db") as other:
        refused = store.submit(put("x"))
        assert isinstance(refused.exception(), StoreLocked)
        assert store.problem == str(StoreLocked())
        assert store.read(lambda tx: tx.one("has_node", digest="x")) is None
        other.communicate("go\n")

    assert store.submit(put("x")).result() == 1
    assert store.problem is None


def test_a_short_lock_is_waited_for(store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "_LOCK_ATTEMPTS", ATTEMPTS_OF_A_SLOW_MACHINE)
    with child(LOCK, folder / "journal.db") as other:
        waiting = store.submit(put("x"))
        other.communicate("go\n")

        assert waiting.result() == 1


def test_a_full_journal_refuses_and_goes_on_when_there_is_room(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "SIZE", 1 << 60)
    store._reserve.give_up()
    store.submit(put("x")).result()
    assert store._handle.connection is not None
    pages = store._handle.connection.execute("pragma page_count").fetchone()["page_count"]
    store._handle.connection.execute(f"pragma max_page_count = {pages + 5}")

    refused = store.submit(put("big", b"x" * 1_000_000))

    assert isinstance(refused.exception(), StoreFull)
    assert store.problem == str(StoreFull())
    assert [has(store, name) for name in ("x", "big")] == [True, False]
    monkeypatch.undo()
    assert store.submit(put("big", b"x" * 1_000_000)).result() == 1
    assert store.problem is None


def test_a_full_journal_saves_in_the_room_that_was_kept(store: SqliteStore) -> None:
    """The limit is that of one connection: the next one, opened after the room was given up, has none."""
    store.submit(put("x")).result()
    assert store._handle.connection is not None
    pages = store._handle.connection.execute("pragma page_count").fetchone()["page_count"]
    store._handle.connection.execute(f"pragma max_page_count = {pages + 5}")

    saved = store.submit(put("big", b"x" * 1_000_000))

    assert saved.result() == 1
    assert has(store, "big")


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """The operating system refuses to let any file of this process grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_error_while_committing_is_answered_by_looking(store: SqliteStore, folder: Path) -> None:
    store.submit(put("x", os.urandom(100_000))).result()

    with files_end_at((folder / "journal.db-wal").stat().st_size + 5000):
        refused = store.submit(put("big", os.urandom(200_000)))
        error = refused.exception()

    assert isinstance(error, StoreLost | StoreFull)
    assert [has(store, name) for name in ("x", "big")] == [True, False]
    assert store.submit(put("big", os.urandom(200_000))).result() == 1
    store.close()
    again = SqliteStore(folder, 1)
    assert [has(again, name) for name in ("x", "big")] == [True, True]
    again.close()


def test_an_opening_that_fails_leaves_no_file_open(folder: Path) -> None:
    SqliteStore(folder, 1).close()

    with files_end_at(0), pytest.raises((StoreLost, StoreFull)) as failure:
        SqliteStore(folder, 1)

    still_open = [str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if os.path.lexists(entry)]
    assert [path for path in still_open if path.startswith(str(folder))] == [], failure.value


class Disk:
    """A connection whose COMMIT reports an error, before or after it took place."""

    def __init__(self, connection: sqlite3.Connection, *, commits: bool) -> None:
        self._connection, self._commits = connection, commits

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            if self._commits:
                self._connection.execute(sql)
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error
        return self._connection.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.parametrize("commits", [True, False])
def test_what_is_found_after_an_error_of_commit_is_the_answer(store: SqliteStore, commits: bool) -> None:
    store.submit(put("before")).result()
    assert store._handle.connection is not None
    store._handle.connection = Disk(store._handle.connection, commits=commits)  # type: ignore[assignment]

    future = store.submit(put("x"))

    if commits:
        assert future.result() == 1
    else:
        assert isinstance(future.exception(), StoreLost)
    assert has(store, "x") is commits
    assert store.submit(put("after")).result() == 1


def test_the_write_ahead_log_is_merged_and_does_not_grow(store: SqliteStore, folder: Path) -> None:
    for number in range(600):
        store.submit(put(f"{number}", os.urandom(2000))).result()

    assert (folder / "journal.db-wal").stat().st_size < 4_000_000
    assert (folder / "journal.db").stat().st_size > 1_000_000


def test_a_large_batch_of_waiting_writes_is_few_commits(store: SqliteStore) -> None:
    before = committed(store)
    gate = Gate(store)
    futures = [store.submit(put(f"{number}")) for number in range(500)]
    gate.open()
    assert [future.result() for future in futures] == [1] * 500

    assert committed(store) - before <= 4


def test_what_is_in_no_hurry_shares_the_commit_of_what_comes_next(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_UNHURRIED_SECONDS", 60.0)
    store.submit(put("first")).result()
    before = committed(store)

    unhurried = [store.submit(put(f"n{number}"), unhurried=True) for number in range(3)]
    store.submit(put("next")).result()

    assert [future.result(0) for future in unhurried] == [1] * 3
    assert committed(store) == before + 1


# -- damage ---------------------------------------------------------------------------------------


def unclean(folder: Path, target: Path, writes: int = 5, body: bytes = b"body") -> None:
    """A copy of an open journal, as a crash would leave it."""
    store = SqliteStore(folder, 1)
    for number in range(writes):
        store.submit(put(f"{number}", body)).result()
    shutil.copytree(folder, target)
    store.close()


def test_a_log_cut_at_any_place_loads_the_last_whole_commit(folder: Path, tmp_path: Path) -> None:
    crashed = tmp_path / "crashed"
    unclean(folder, crashed)
    wal = (crashed / "journal.db-wal").read_bytes()

    seen = set()
    for cut in range(len(wal), len(wal) - 9000, -311):
        case = tmp_path / f"cut {cut}"
        shutil.copytree(crashed, case)
        (case / "journal.db-shm").unlink()
        (case / "journal.db-wal").write_bytes(wal[:cut])
        store = SqliteStore(case, 1)
        present = [has(store, f"{number}") for number in range(5)]
        seen.add(sum(present))
        assert present == sorted(present, reverse=True)
        store.submit(put("after")).result()
        store.close()

    assert max(seen) == 5
    assert min(seen) < 5


@pytest.mark.parametrize("pages", [1, 2, 40])
def test_a_journal_whose_merge_was_cut_off_is_still_ours(folder: Path, tmp_path: Path, pages: int) -> None:
    """The first pages reached the file, those that it grew by did not: only together with the log it is whole."""
    crashed, merged = tmp_path / "crashed", tmp_path / "merged"
    unclean(folder, crashed, writes=10, body=b"x" * 30_000)
    shutil.copytree(crashed, merged)
    SqliteStore(merged, 1).close()
    with (crashed / "journal.db").open("r+b") as file:
        file.write((merged / "journal.db").read_bytes()[: pages * 4096])
    assert (crashed / "journal.db").stat().st_size < (merged / "journal.db").stat().st_size

    store = SqliteStore(crashed, 1)

    assert all(has(store, f"{number}") for number in range(10))
    store.close()


@pytest.mark.parametrize("table", ["runs", "calls"])
def test_a_damaged_table_is_found_at_the_start_after_a_crash(folder: Path, tmp_path: Path, table: str) -> None:
    world = World(folder)
    run = world.admit()
    world.done(run, model(1))
    assert world.journal._store._handle.connection is not None  # type: ignore[attr-defined]
    connection = world.journal._store._handle.connection  # type: ignore[attr-defined]
    root = connection.execute(f"select rootpage from sqlite_schema where name = '{table}'").fetchone()["rootpage"]
    world.close()
    crashed = tmp_path / "crashed"
    unclean(folder, crashed)
    with (crashed / "journal.db").open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    before = (crashed / "journal.db").read_bytes()

    with pytest.raises(JournalDamaged):
        SqliteStore(crashed, 1)

    assert (crashed / "journal.db").read_bytes() == before


# -- peeking --------------------------------------------------------------------------------------


def test_a_look_needs_no_ownership(folder: Path) -> None:
    world = World(folder)
    run = world.admit("a")
    world.run_in(RunState.COMPLETED, "b")
    held = world.run_in(RunState.HELD, "c")
    expected = {"a": (run.run_id, RunState.RUNNING), "c": (held.run_id, RunState.HELD)}

    assert peek_unfinished(folder) == expected
    world.close()
    assert peek_unfinished(folder) == expected


def test_a_look_works_after_a_crash_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    world = World(folder)
    run = world.admit("a")
    crashed = tmp_path / "crashed"
    shutil.copytree(folder, crashed)
    world.close()
    before = (crashed / "journal.db").read_bytes(), (crashed / "journal.db-wal").read_bytes()

    assert peek_unfinished(crashed) == {"a": (run.run_id, RunState.RUNNING)}

    assert ((crashed / "journal.db").read_bytes(), (crashed / "journal.db-wal").read_bytes()) == before


def test_a_look_at_nothing_finds_nothing_and_makes_nothing(folder: Path) -> None:
    assert peek_unfinished(folder) == {}
    assert not folder.exists()


def test_a_look_through_a_newer_edition(folder: Path) -> None:
    world = World(folder)
    world.admit("a")
    world.close()
    connection = sqlite3.connect(folder / "journal.db")
    connection.execute("pragma user_version = 99")
    connection.commit()
    connection.close()

    assert list(peek_unfinished(folder)) == ["a"]


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_look_at_something_else_says_so(folder: Path, kind: str) -> None:
    folder.mkdir(parents=True)
    FOREIGN[kind](folder / "journal.db")

    with pytest.raises((JournalForeign, StoreLost)):
        peek_unfinished(folder)
