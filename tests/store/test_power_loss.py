"""The power goes out at any moment of a real process: everything announced is there, and nothing is half.

The calls of the process are recorded and its disk is simulated; `make faults` cuts at every call, and on a real file
system. Where there is no strace the test is skipped; nothing else shows when a process synced what.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.store.powercuts import check_cuts, recorded
from tests.support import disk

pytestmark = [pytest.mark.crash, pytest.mark.skipif(not disk.has_strace(), reason="there is no strace on PATH")]


def test_what_was_announced_survives_a_power_cut(tmp_path: Path) -> None:
    run = recorded(tmp_path / "world", (3, "leave"), (1, "close"), (1, "leave"))

    opened = check_cuts(run, tmp_path / "cut", range(7, run.cuts, 97), random.Random(7))

    assert opened > 30


def test_what_a_failed_sync_lost_is_not_announced_by_a_later_one(tmp_path: Path) -> None:
    """After an error of a sync the system counts the pages as written: the next sync says yes and writes nothing."""
    for number in (1, 9):  # with the first one, the name of the log is lost as well
        run = recorded(tmp_path / f"world {number}", (2, "leave"), inject=f"fdatasync:error=EIO:when={number}")
        assert [event.what for event in run.events].count("failed sync") == 1

        check_cuts(run, tmp_path / "cut", range(150, run.cuts, 41), random.Random(9))
