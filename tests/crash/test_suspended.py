"""A turn that is interrupted, or whose step ends without proof, killed before and after the write that says so.

Whatever the moment, the next life finds the same: an effect that may have happened asks a person, and happens once.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from journal import Choice, Turns
from journal.records import HoldReason, RunState

CHILD = Path(__file__).with_name("suspended_child.py")

pytestmark = pytest.mark.crash


def live(folder: Path, ends: str = "", dies_at: str = "") -> str | None:
    """One process: how its turn ended, or None if it was killed."""
    done = subprocess.run([sys.executable, str(CHILD), str(folder), ends, dies_at], capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.stdout if done.returncode == 0 else None


def effects(folder: Path) -> list[str]:
    return (folder / "effects").read_text().splitlines()


@pytest.mark.parametrize(
    ("ends", "dies_at"),
    [(ends, f"{side} {door}") for ends, door in (("inside", "suspend_run"), ("silent", "lose_call")) for side in ("before", "after")],
)
def test_a_step_that_was_cut_off_is_asked_about_and_done_once(tmp_path: Path, ends: str, dies_at: str) -> None:
    assert live(tmp_path, ends, dies_at) is None

    assert live(tmp_path) == "held"

    with Turns.open(tmp_path / "journal") as turns:
        (held,) = turns.held()
        assert (held.reason, held.steps) == (HoldReason.OUTCOME_UNKNOWN, ["tool:1:0:call_9"])
        turns.decide(held, Choice.CONFIRMED_COMPLETED, origin="test", note="It stands there.", result_text="paid")
    assert live(tmp_path) == "paid"
    assert effects(tmp_path) == ["asked", "paid"]


@pytest.mark.parametrize("dies_at", ["before suspend_run", "after suspend_run"])
def test_an_interruption_between_two_steps_asks_nothing(tmp_path: Path, dies_at: str) -> None:
    assert live(tmp_path, "between", dies_at) is None

    assert live(tmp_path) == "paid"

    assert effects(tmp_path) == ["asked", "paid"]


@pytest.mark.parametrize(("ends", "said", "state"), [("inside", "interrupted", RunState.HELD), ("between", "interrupted", RunState.QUEUED)])
def test_who_lives_on_finds_the_run_put_down(tmp_path: Path, ends: str, said: str, state: RunState) -> None:
    """In the record, and not only by the next life's own look: a panel shows it at once."""
    assert live(tmp_path, ends) == said

    with Turns.open(tmp_path / "journal") as turns:
        assert [run.state for run in turns.unfinished()] == [state]
