"""A recorded run of a real process, cut by a power loss after any of its calls, and what the journal then must still have."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journal.masking import Masker
from journal.records import InputState, RunState
from journal.service import Journal
from tests.store.test_crash import CHILD, check
from tests.support import disk
from tests.support.disk import Disk, Event

KEPT = ("nothing", "everything", "something", "something")


@dataclass(frozen=True)
class Recorded:
    """The calls of one or more processes, one after the other, on the folders below `root`."""

    root: Path
    events: list[Event]

    @property
    def cuts(self) -> int:
        return len(self.events) + 1


def recorded(root: Path, *sessions: tuple[int, str], inject: str = "") -> Recorded:
    """Processes work in one journal, each for some turns, and then `leave` as if killed, or `close`.

    `inject` makes calls of the first one fail, or kills it there.
    """
    root.mkdir()
    events = []
    for number, (turns, end) in enumerate(sessions):
        log = root.parent / f"{root.name} {number}.log"
        disk.record(disk.python(CHILD, root / "deep" / "journal", turns, end), log, inject=inject if number == 0 else "")
        events += disk.events(log, root)
        log.unlink()
    return Recorded(root, events)


def check_cuts(run: Recorded, folder: Path, cuts: Iterable[int], chance: random.Random, kept: Iterable[str] = KEPT) -> int:
    """Lose the power after so many calls, each time in every way; answers how many states were opened."""
    machine, said, effects, opened = Disk(run.root), [], [], 0
    wanted = set(cuts)
    for number in range(run.cuts):
        if number in wanted:
            for way in kept:
                folder.mkdir()
                machine.after_power_loss(folder, way, chance)
                _check(folder / "deep" / "journal", said, effects, f"cut {number}, {way} kept")
                shutil.rmtree(folder)
                opened += 1
        if number < len(run.events):
            event = run.events[number]
            if event.what == "said":
                said.append(json.loads(event.data))
            elif event.path.endswith("/effects"):
                effects += event.data.decode().split()
            else:
                machine.take(event)
    return opened


def _check(folder: Path, said: list[dict[str, Any]], effects: list[str], where: str) -> None:
    journal = Journal.open(folder, masker=Masker(list), boot={})
    try:
        runs = journal.runs_of("chat")
        calls = {call.call_id: call for run in runs for call in journal.calls(run.run_id)}
        for facts in said:
            check(journal, facts, calls)
        assert set(effects) <= calls.keys(), f"{where}: an effect without an intent (I1)"
        assert len(journal.unfinished()) <= 1, where
        for run in runs:
            assert not run.damaged, where
            point = journal.resume_point(run.run_id)
            assert [point.tree.value(each) for each in point.tree.list(point.tree.value(point.root)["history"])], where
            if run.state is RunState.COMPLETED:
                assert {each.state for each in journal.inputs(run.run_id)} == {InputState.DELIVERED}, where
    except Exception as error:
        error.add_note(where)
        raise
    finally:
        journal.close()
    connection = sqlite3.connect(folder / "journal.db")
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)], where
    connection.close()
