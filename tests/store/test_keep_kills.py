"""SIGKILL at every step of saving a large body, pruning, copying and restoring: nothing is lost, nothing is half."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from journal import backup, restore
from journal.errors import JournalError
from journal.records import HoldReason, Outcome, RunState
from journal.retention import Policy
from journal.store.bodies import LARGE
from tests.store.test_backup import shows
from tests.store.test_retention import is_readable, later, tables, turn
from tests.store.worlds import World, tool

BIG = "x" * (LARGE + 1)
FEW = Policy(runs=1, days=30)
STEPS: list[tuple[Any, str]] = [
    *((os, name) for name in ("fsync", "link", "write")),
    *((Path, name) for name in ("rename", "unlink", "mkdir")),
    *((shutil, name) for name in ("copyfile", "rmtree")),
]
"""What changes a folder. A process is killed before each of them in turn, and so after each one before."""

pytestmark = pytest.mark.crash


class Killer:
    """Ends this process with SIGKILL at one of its steps; the product knows nothing of it.

    Only steps of the thread that does the work count: the writer's own come in its pauses, now before one of these and now after.
    """

    def __init__(self, at: int) -> None:
        self.left, self._thread = at, threading.get_ident()

    def step(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def watch(self) -> None:
        for place, name in STEPS:
            setattr(place, name, self._watched(getattr(place, name)))

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*told: Any, **more: Any) -> Any:
            if threading.get_ident() == self._thread:
                self.step()
            return function(*told, **more)

        return watched


def is_killed(at: int, work: Callable[[Killer], None]) -> bool:
    """Do the work in a child process that is killed at a step; False if it came to its end before that."""
    pid = os.fork()
    if pid == 0:
        try:
            work(Killer(at))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or os.waitstatus_to_exitcode(status) == 0
    return killed


def each_kill(template: Path, tmp_path: Path, work: Callable[[Path, Killer], None]) -> Iterator[Path]:
    """The folder as it is after a kill at each step in turn."""
    at = 0
    while True:
        folder = tmp_path / f"killed at {at}"
        shutil.copytree(template, folder, symlinks=True)
        if not is_killed(at, lambda killer, folder=folder: work(folder, killer)):  # type: ignore[misc]
            assert at > 3, "no step was watched"
            return
        yield folder
        shutil.rmtree(folder)
        at += 1


def small_turn(world: World, number: int) -> None:
    """A run with one large value: few steps, so that each can be a kill of its own."""
    run = world.admit("chat", f"m{number}")
    world.done(run, tool(1), f"{BIG} {number}")
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, f"bye {number}", None, []).result()


def reopened(folder: Path) -> World:
    world = World(folder)
    later(world)
    return world


# -- a large body ---------------------------------------------------------------------------------


def test_a_large_result_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    world = World(tmp_path / "journal")
    call = world.opened(world.admit(), tool(1))
    world.close()

    def work(folder: Path, killer: Killer) -> None:
        living = World(folder)
        submit = living.journal._store.submit
        living.journal._store.submit = lambda *told, **more: (killer.step(), submit(*told, **more))[1]  # type: ignore[method-assign]
        killer.watch()
        living.journal.finish_call(call.call_id, Outcome.OK, BIG).result()
        killer.step()
        os._exit(0)

    seen = set()
    for folder in each_kill(tmp_path / "journal", tmp_path, work):
        world = reopened(folder)
        (found,) = world.journal.calls(call.run_id)
        seen.add(found.outcome)
        assert found.value in (None, BIG)
        assert world.journal.finish_call(call.call_id, Outcome.OK, BIG).result().value == BIG
        world.clock.ms += 10**12  # long after: what no record names is garbage by now
        world.journal.prune(FEW)
        files = [path for path in (folder / "blobs").rglob("*") if path.is_file()]
        assert len(files) == 1
        assert world.journal.calls(call.run_id)[0].value == BIG
        world.close()

    assert seen == {None, Outcome.OK}


# -- pruning --------------------------------------------------------------------------------------


def test_a_round_that_is_killed_anywhere_is_begun_again(tmp_path: Path) -> None:
    world = World(tmp_path / "journal")
    for number in range(3):
        turn(world, "chat", number, value=BIG)
    world.close()

    def work(folder: Path, killer: Killer) -> None:
        living = reopened(folder)
        killer.watch()
        living.journal.prune(FEW, rest=lambda: bool(killer.step()))
        os._exit(0)

    left = set()
    for folder in each_kill(tmp_path / "journal", tmp_path, work):
        world = reopened(folder)
        is_readable(world)
        tables(world)
        left.add(len(world.journal.runs_of("chat")))
        for number in range(3):
            found = world.journal.find_input("chat", f"chat {number}", {"text": f"please chat {number}"})
            assert found is not None
            assert found[0] == "same"
        world.clock.ms += 10**12
        world.journal.prune(FEW)
        assert len(world.journal.runs_of("chat")) == 1
        assert world.journal.plan(FEW).bytes == 0
        named = {path.name for path in (folder / "blobs").rglob("*") if path.is_file()}
        assert len(named) == 2, "the answer of the model and the result of the newest run"
        is_readable(world)
        tables(world)
        world.close()

    assert left == {1, 2, 3}


# -- copying --------------------------------------------------------------------------------------


def test_a_backup_that_is_killed_anywhere_is_no_backup(tmp_path: Path) -> None:
    world = World(tmp_path / "journal")
    small_turn(world, 1)
    first = world.journal.backup().name
    world.clock.turn(1)
    small_turn(world, 2)
    before = shows(world)
    world.close()

    def work(folder: Path, killer: Killer) -> None:
        killer.watch()
        backup.make(folder, keep=1, step=killer.step)

    for folder in each_kill(tmp_path / "journal", tmp_path, work):
        listed = backup.list_all(folder)
        assert listed
        for each in listed:
            assert backup.verify(each.path) == each.manifest
        assert len(listed) > 1 or listed[0].name == first or listed[0].manifest.counts["runs"] == 2  # type: ignore[union-attr]
        backup.make(folder, keep=1)
        assert len([path for path in (folder / "backups").iterdir() if path.name != ".lock"]) == 1
        world = World(folder)
        assert shows(world) == before
        world.close()


# -- restoring ------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_restore_that_is_killed_anywhere_leaves_the_old_journal_or_the_new_one(tmp_path: Path) -> None:
    world = World(tmp_path / "journal")
    small_turn(world, 1)
    unfinished = world.admit("open", "m1")
    old_point = shows(world)
    name = world.journal.backup().name
    world.journal.stop_run(unfinished.run_id, "test").result()
    small_turn(world, 2)
    before = shows(world)
    world.close()

    def work(folder: Path, killer: Killer) -> None:
        killer.watch()
        restore.restore(folder, name, step=killer.step)

    results = []
    for folder in each_kill(tmp_path / "journal", tmp_path, work):
        world = World(folder)  # what a server does that starts now
        assert list(folder.glob("journal.restoring*")) == list(folder.glob("journal.switch")) == []
        is_old = shows(world) == before
        results.append(is_old)
        if not is_old:
            is_restored(world, old_point)
            (aside,) = folder.glob("journal.before-restore-*")
            former = World(aside)
            assert shows(former) == before
            former.close()
        world.close()
        restore.restore(folder, name)
        world = World(folder)
        is_restored(world, old_point)
        world.close()
        assert list(folder.glob("journal.restoring*")) == list(folder.glob("journal.switch*")) == []

    assert results == sorted(results, reverse=True)
    assert set(results) == {True, False}


def test_a_restore_that_is_killed_and_then_begun_again_at_once_works(tmp_path: Path) -> None:
    """Nothing opened the journal in between."""
    world = World(tmp_path / "journal")
    small_turn(world, 1)
    old_point = shows(world)
    name = world.journal.backup().name
    small_turn(world, 2)
    world.close()

    def work(folder: Path, killer: Killer) -> None:
        killer.watch()
        restore.restore(folder, name)

    for folder in each_kill(tmp_path / "journal", tmp_path, work):
        restore.restore(folder, name)
        world = World(folder)
        is_restored(world, old_point)
        world.close()


def is_restored(world: World, expected: dict[str, Any]) -> None:
    assert shows(world) == expected
    for run in world.journal.unfinished():
        assert run.state is RunState.HELD
        assert run.hold is not None
        assert run.hold.reason is HoldReason.RESTORED


def test_a_kill_is_no_error_of_ours(tmp_path: Path) -> None:
    """The harness itself: a child that fails for another reason is not taken for one that was killed."""

    def fails(killer: Killer) -> None:
        raise JournalError

    with pytest.raises(AssertionError):
        is_killed(0, fails)
