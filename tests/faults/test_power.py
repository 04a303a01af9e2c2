"""The power goes out after every single call of a process, and for real under a file system."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from journal.masking import Masker
from journal.service import Journal
from tests.store.powercuts import check_cuts, recorded
from tests.store.test_crash import CHILD, check
from tests.support import disk, mounts

Tally = Callable[[str, int, int], None]
needs_strace = pytest.mark.skipif(not disk.has_strace(), reason="there is no strace on PATH")


@needs_strace
def test_a_power_cut_after_every_call(tmp_path: Path, tally: Tally) -> None:
    run = recorded(tmp_path / "world", (4, "leave"), (1, "close"), (1, "leave"))

    opened = check_cuts(run, tmp_path / "cut", range(run.cuts), random.Random(1))

    tally(f"Power cuts ({opened} states of the disk opened)", run.cuts, run.cuts)


@needs_strace
def test_every_sync_fails_once_and_the_power_goes_out_later(tmp_path: Path, tally: Tally) -> None:
    """Each failed sync loses what it should have written for good; what is announced afterwards must not need it."""
    tried = 0
    for number in itertools.count(1):
        world = tmp_path / f"world {number}"
        run = recorded(world, (1, "leave"), inject=f"fdatasync:error=EIO:when={number}")
        if not any(event.what == "failed sync" for event in run.events):
            break
        failed = next(at for at, event in enumerate(run.events) if event.what == "failed sync")
        check_cuts(run, tmp_path / "cut", [*range(failed, run.cuts, 3), run.cuts - 1], random.Random(number), ("nothing", "something"))
        shutil.rmtree(world)
        tried += 1
    assert tried > 10
    tally("Failed syncs, then a power cut", tried, tried)


@needs_strace
def test_a_kill_at_any_write_and_a_power_cut_under_the_next_process(tmp_path: Path, tally: Tally) -> None:
    """What a killed process left unsynced, and unnamed, the next one reads; it must not announce anything that needs it."""
    tried = 0
    for number in [*range(95, 125, 2), *range(125, 400, 25)]:
        world = tmp_path / f"world {number}"
        run = recorded(world, (2, "leave"), (1, "leave"), inject=f"pwrite64:signal=SIGKILL:when={number}")
        check_cuts(run, tmp_path / "cut", [run.cuts // 2, run.cuts - 1], random.Random(number), ("nothing", "something"))
        shutil.rmtree(world)
        tried += 1
    tally("Kills at a write, then a power cut under the next process", tried, tried)


@pytest.mark.skipif(not mounts.can_loop(), reason="making a file system in a file needs root and a loop device")
def test_a_real_file_system_loses_its_power(tmp_path: Path, tally: Tally) -> None:
    """ext4 is shut down without flushing anything, under a process at work, and mounted again."""
    chance, cuts = random.Random(3), 15
    for number in range(cuts):
        with mounts.ext4(tmp_path / f"disk {number}") as mounted:
            said = work_until_shutdown(mounted, chance.uniform(0.05, 0.6))
            mounted.remount()
            journal = Journal.open(mounted.path / "journal", masker=Masker(list), boot={})
            calls = {call.call_id: call for run in journal.runs_of("chat") for call in journal.calls(run.run_id)}
            for facts in said:
                check(journal, facts, calls)
            for run in journal.runs_of("chat"):
                assert not run.damaged
                assert journal.resume_point(run.run_id)
            journal.close()
            assert len(said) > 1
    tally("Power losses of a real ext4", cuts, cuts)


def work_until_shutdown(mounted: mounts.Mounted, seconds: float) -> list[dict[str, str]]:
    """Everything that was announced before the file system was shut down; what was said in that moment counts too."""
    output = mounted.path.parent / "said"
    with output.open("wb") as said, subprocess.Popen([sys.executable, str(CHILD), str(mounted.path / "journal")], stdout=said) as process:
        while output.stat().st_size < 200:
            time.sleep(0.01)
        time.sleep(seconds)
        mounted.shut_down()
        process.kill()
        process.wait()
    return [json.loads(line) for line in output.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
