"""Other processes and the same one again: stopped for minutes, copied, replaced, put back, or at the same door."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from journal.errors import JournalError, StoreLocked, StoreLost
from journal.records import Choice, Outcome, RunState
from journal.store.sqlite import SqliteStore
from tests.faults.test_damage import is_whole
from tests.store.contract import has, put
from tests.store.test_sqlite import OWN, ROOT, child
from tests.store.test_writer_death import storm
from tests.store.worlds import World, tool
from tests.support import mounts

Tally = Callable[[str, int, int], None]
needs_mounts = pytest.mark.skipif(not mounts.can_mount(), reason="mounting needs root")

EXCLUSIVE = """import sqlite3, time
sqlite = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
sqlite.execute("begin exclusive")
print("ready", flush=True)
time.sleep(float(sys.argv[2]))
sqlite.execute("rollback")
"""
WORK = """from pathlib import Path
from journal.store.sqlite import SqliteStore
from tests.store.contract import put
store = SqliteStore(Path(sys.argv[1]), 1)
store.submit(put("mine")).result()
print("ready", flush=True)
for line in sys.stdin:
    print(repr(store.submit(put(line.strip())).exception()), flush=True)
"""


def test_a_foreign_lock_of_twenty_seconds(tmp_path: Path, tally: Tally) -> None:
    folder, seconds = tmp_path / "journal", 20.0
    store = SqliteStore(folder, 1)
    store.submit(put("before")).result()
    with child(EXCLUSIVE, folder / "journal.db", seconds):
        began, refused = time.monotonic(), 0
        while (error := store.submit(put("kept")).exception(60)) is not None:
            assert isinstance(error, StoreLocked)
            assert store.problem == str(StoreLocked())
            assert has(store, "before")  # what is saved can be read all the time
            assert not has(store, "kept")
            refused += 1
        waited = time.monotonic() - began
    assert refused > 1
    assert waited > seconds / 2
    assert store.problem is None
    store.close()
    tally(f"Foreign lock of 20 s ({refused} refusals that said why)", 1, 1)


def test_a_foreign_lock_while_the_journal_is_opened_after_a_crash(tmp_path: Path, tally: Tally) -> None:
    folder = tmp_path / "journal"
    with child(OWN, folder) as owner:
        owner.kill()
        owner.wait()
    with child(EXCLUSIVE, folder / "journal.db", 5), pytest.raises(StoreLocked):
        SqliteStore(folder, 1)

    SqliteStore(folder, 1).close()
    tally("Foreign lock at an opening", 1, 1)


def test_an_owner_that_is_stopped_for_a_long_time_stays_the_owner(tmp_path: Path, tally: Tally) -> None:
    """Half a minute here; there is no lease that could run out, so minutes are no different."""
    folder, tried = tmp_path / "journal", 0
    with child(WORK, folder) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        owner.stdin.write("in flight\n")
        owner.stdin.flush()
        owner.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with pytest.raises(StoreLocked):
                SqliteStore(folder, 1)
            tried += 1
            time.sleep(0.5)
        owner.send_signal(signal.SIGCONT)
        assert owner.stdout.readline() == "None\n"
        owner.stdin.write("afterwards\n")
        owner.stdin.flush()
        assert owner.stdout.readline() == "None\n"
        owner.kill()
        owner.wait()
    store = SqliteStore(folder, 1)
    assert all(has(store, name) for name in ("mine", "in flight", "afterwards"))
    store.close()
    tally("Openings while the owner was stopped", tried, tried)


RACE = """import os, time
from pathlib import Path
from journal.errors import StoreLocked
from journal.store.sqlite import SqliteStore
from tests.store.contract import put
print("ready", flush=True)
sys.stdin.readline()
try:
    store = SqliteStore(Path(sys.argv[1]), 1)
except StoreLocked:
    print("refused", flush=True)
else:
    store.submit(put(str(os.getpid()))).result()
    print("owner", flush=True)
sys.stdin.readline()
"""


def test_two_servers_start_on_one_journal_at_once(tmp_path: Path, tally: Tally) -> None:
    rounds = 10
    for number in range(rounds):
        folder = tmp_path / f"journal {number}"
        with child(RACE, folder) as one, child(RACE, folder) as other:
            answers = []
            for process in (one, other):
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            for process in (one, other):
                assert process.stdout is not None
                answers.append(process.stdout.readline().strip())
            assert sorted(answers) == ["owner", "refused"], number
    tally("Two servers at once", rounds, rounds)


EXECV = """import os
from pathlib import Path
from journal.store.sqlite import SqliteStore
from tests.store.contract import has, put
turn = int(sys.argv[2])
store = SqliteStore(Path(sys.argv[1]), 1)
assert all(has(store, f"turn {number}") for number in range(turn)), turn
store.submit(put(f"turn {turn}", b"x" * 30_000)).result()
futures = [store.submit(put(f"open {turn}.{number}", b"x" * 30_000)) for number in range(20)]
if turn == 12:
    print(os.getpid(), flush=True)
    sys.exit()
os.execv(sys.executable, [sys.executable, "-c", sys.orig_argv[2], sys.argv[1], str(turn + 1)])
"""


def test_a_server_that_replaces_itself_with_the_same_pid(tmp_path: Path, tally: Tally) -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{EXECV}"
    with subprocess.Popen([sys.executable, "-c", program, tmp_path / "journal", "0"], stdout=subprocess.PIPE) as process:
        said, _ = process.communicate()

    assert process.returncode == 0
    assert int(said) == process.pid
    store = SqliteStore(tmp_path / "journal", 1)
    assert all(has(store, f"turn {number}") for number in range(13))
    store.close()
    tally("execv with the same pid, writes under way", 12, 12)


FORKS = """import gc, os, time, warnings
from pathlib import Path
from journal.store.sqlite import SqliteStore
from tests.store.contract import has, put
warnings.simplefilter("ignore")
store = SqliteStore(Path(sys.argv[1]), 1)
for number in range(int(sys.argv[2])):
    store.submit(put(f"before {number}", b"x" * 20_000)).result()
    pid = os.fork()
    if pid == 0:
        if number % 3 == 0:
            os._exit(0)
        if number % 3 == 1:
            del store
            gc.collect()
        sys.exit(0)
    futures = [store.submit(put(f"beside {number}.{part}", b"x" * 20_000)) for part in range(5)]
    assert [future.result() for future in futures] == [1] * 5
    os.waitpid(pid, 0)
    store.submit(put(f"after {number}")).result()
    assert has(store, f"before {number}")
print("done", flush=True)
os._exit(0)
"""


def test_forked_children_that_end_in_every_way_take_nothing_with_them(tmp_path: Path, tally: Tally) -> None:
    """A child ends at once, drops its copies of the connections, or ends as a program does, while the owner writes."""
    forks = 30
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{FORKS}"
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "journal", str(forks)], capture_output=True, text=True, check=False)

    assert done.stdout.endswith("done\n"), done.stderr
    store = SqliteStore(tmp_path / "journal", 1)
    for number in range(forks):
        names = [f"before {number}", f"after {number}", *(f"beside {number}.{part}" for part in range(5))]
        assert all(has(store, name) for name in names), number
    assert store.submit(put("x")).result() == 1
    store.close()
    tally("Forked children with descriptors", forks, forks)


def test_the_writer_is_killed_again_and_again(tmp_path: Path, tally: Tally) -> None:
    store = SqliteStore(tmp_path / "journal", 1)
    deaths = 1000
    checked = storm(store, deaths, random.Random(1000))
    store.close()
    tally(f"Deaths of the writer thread ({checked} answers compared)", deaths, deaths)


# -- put back, copied, recreated ------------------------------------------------------------------


def snapshot(world: World, target: Path) -> None:
    world.journal.close()
    shutil.copytree(world.folder, target)
    world.journal = world._open()


def test_a_snapshot_that_is_put_back_under_the_open_journal_closes_it(world: World, tmp_path: Path, tally: Tally) -> None:
    world.run_in(RunState.COMPLETED)
    snapshot(world, tmp_path / "snapshot")
    run = world.admit("chat", "m2")
    for name in ("journal.db", "journal.db-wal"):
        (world.folder / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "snapshot" / "journal.db", world.folder / "journal.db")

    with pytest.raises(StoreLost):
        world.opened(run, tool(1))

    world.journal.close()
    world.journal = world._open()
    assert [each.state for each in world.journal.runs_of("chat")] == [RunState.COMPLETED]
    tally("Snapshot put back under an open journal", 1, 1)


AT_RISK = ("an open call", "a finished call", "a decision")
"""What may have happened after a snapshot was taken."""


@pytest.mark.parametrize("since", AT_RISK)
def test_a_snapshot_that_is_put_back_while_closed_is_a_whole_older_state(world: World, tmp_path: Path, tally: Tally, since: str) -> None:
    """What the store does by itself: it opens the older state, whole. That it is older is noticed by its generation."""
    run = world.admit()
    call = world.opened(run, tool(1))
    snapshot(world, tmp_path / "snapshot")
    run = world.journal.run(run.run_id)
    if since == "an open call":
        world.opened(run, tool(2))
    elif since == "a finished call":
        world.journal.finish_call(call.call_id, Outcome.OK, "x").result()
    else:
        world.decide(world.recover(run), Choice.CONFIRMED_COMPLETED, call)
    world.journal.close()
    shutil.rmtree(world.folder)
    shutil.copytree(tmp_path / "snapshot", world.folder)
    world.journal = world._open()

    (found,) = world.journal.calls(run.run_id)
    assert (found.call_id, found.outcome) == (call.call_id, None)
    held = world.recover(run)
    assert held.state is RunState.HELD
    assert world.decide(held, Choice.STOP).state is RunState.STOPPED
    tally(f"Snapshot put back after {since}", 1, 1)


def test_a_backup_that_copied_the_parts_at_different_times_is_never_half(tmp_path: Path, tally: Tally) -> None:
    """The journal's file and its log are copied while it is written, as a host's own backup does.

    A log that was begun anew in between does not belong to the file beside it; the check of the whole file says so.
    """
    folder, whole, tried = tmp_path / "journal", 0, 0
    store = SqliteStore(folder, 1)
    names: list[str] = []
    for number in range(60):
        copies = tmp_path / f"copy {number}"
        copies.mkdir()
        for part in ("journal.db", "journal.db-wal"):
            shutil.copy(folder / part, copies / part)
            for _ in range(number % 13):
                names.append(f"n{len(names)}")
                store.submit(put(names[-1], os.urandom(15_000))).result()
        tried += 1
        whole += _is_prefix_or_refused(copies, names)
        shutil.rmtree(copies)
    store.close()
    tally("Backups copied part by part: whole, refused, or told by the check of the whole file", whole, tried)
    assert whole == tried


def _is_prefix_or_refused(folder: Path, names: list[str]) -> bool:
    try:
        store = SqliteStore(folder, 1)
    except JournalError:
        return True
    try:
        found = [has(store, name) for name in names]
    except JournalError:
        return True
    finally:
        store.close()
    return found == sorted(found, reverse=True) or not is_whole(folder / "journal.db")


@needs_mounts
def test_a_container_is_recreated_from_its_image(tmp_path: Path, tally: Tally) -> None:
    """What was written in the container's own layer is gone; the image's state is there, or a new journal begins."""
    image = tmp_path / "image"
    with mounts.tmpfs(tmp_path / "layers", 64 * 1024 * 1024) as layers:
        for shipped in (False, True):
            if shipped:
                store = SqliteStore(image / "journal", 1)
                store.submit(put("in the image")).result()
                store.close()
            for life in range(3):
                with mounts.overlay(image, layers / f"{shipped}{life}", tmp_path / "container") as container:
                    store = SqliteStore(container / "journal", 1)
                    assert has(store, "in the image") is shipped
                    assert not has(store, "written")
                    for number in range(100):
                        store.submit(put(f"written {number}", b"x" * 10_000)).result()
                    store.submit(put("written")).result()
                    store.close()
                    again = SqliteStore(container / "journal", 1)
                    assert has(again, "written")
                    again.close()
    tally("Containers recreated", 6, 6)


@needs_mounts
def test_the_folder_is_recreated_under_the_open_journal(tmp_path: Path, tally: Tally) -> None:
    with (
        mounts.tmpfs(tmp_path / "layers", 64 * 1024 * 1024) as layers,
        mounts.overlay(tmp_path / "image", layers / "up", tmp_path / "container") as container,
    ):
        store = SqliteStore(container / "journal", 1)
        store.submit(put("x")).result()
        shutil.rmtree(container / "journal")
        (container / "journal").mkdir()

        assert isinstance(store.submit(put("y")).exception(60), StoreLost)
        other = SqliteStore(container / "journal", 1)
        assert not has(other, "x")
        assert isinstance(store.submit(put("z")).exception(60), StoreLost)
        assert other.submit(put("new")).result() == 1
        store.close()
        assert has(other, "new")
        other.close()
    tally("Folder recreated under an open journal", 1, 1)
