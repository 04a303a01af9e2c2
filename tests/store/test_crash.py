"""A process is killed with SIGKILL at any moment, again and again: everything that was announced is in the journal."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from journal.masking import Masker
from journal.records import InputState, Outcome, RunState
from journal.service import Journal

CHILD = Path(__file__).with_name("crash_child.py")
KILLS = 20


def run_and_kill(folder: Path, lines: int) -> list[dict[str, Any]]:
    """Let a process work, kill it once it has said so much, and return everything it said until it was dead."""
    with subprocess.Popen([sys.executable, str(CHILD), str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL, b"".join(said)
    return [json.loads(line) for line in said if line.endswith(b"\n")]


def check(journal: Journal, facts: dict[str, Any], calls: dict[str, Any]) -> None:
    """One announced fact is there, as announced."""
    match facts["what"]:
        case "admitted":
            found = journal.find_input("chat", facts["message"], {"text": facts["message"]})
            assert found is not None
            assert (found[0], found[1].run_id) == ("same", facts["run"])
        case "begun":
            assert facts["call"] in calls
        case "finished":
            call = calls[facts["call"]]
            assert (call.outcome, call.value) == (Outcome.OK, f"result of {call.call_id}")
        case "checkpoint":
            assert journal.run(facts["run"]).checkpoint_seq >= facts["seq"]
        case "kept":
            assert journal.find_input("chat", facts["message"], {"text": "more"}) is not None
        case "closed":
            run = journal.run(facts["run"])
            assert (run.state, run.answer) == (RunState.COMPLETED, facts["answer"])
        case "stopped":
            assert journal.run(facts["run"]).state is RunState.STOPPED


@pytest.mark.crash
def test_whatever_was_announced_survives_twenty_kills(tmp_path: Path) -> None:
    folder, chance = tmp_path / "journal", random.Random(20)
    announced: list[dict[str, Any]] = []
    unfinished_seen = 0
    for _ in range(KILLS):
        announced += run_and_kill(folder, chance.randint(2, 60))

        journal = Journal.open(folder, masker=Masker(list), boot={})
        runs = journal.runs_of("chat")
        calls = {call.call_id: call for run in runs for call in journal.calls(run.run_id)}
        for facts in announced:
            check(journal, facts, calls)
        effects = (tmp_path / "effects").read_text().splitlines() if (tmp_path / "effects").exists() else []
        assert set(effects) <= calls.keys(), "an effect without an intent (I1)"
        assert len(set(effects)) == len(effects)
        unfinished = journal.unfinished()
        assert len(unfinished) <= 1
        unfinished_seen += len(unfinished)
        for run in runs:
            point = journal.resume_point(run.run_id)
            assert [point.tree.value(each) for each in point.tree.list(point.tree.value(point.root)["history"])]
            if run.state is RunState.COMPLETED:
                assert {each.state for each in journal.inputs(run.run_id)} == {InputState.DELIVERED}
        journal.close()

    assert unfinished_seen > 0, "no kill came in the middle of a run"
    assert {facts["what"] for facts in announced} >= {"admitted", "begun", "finished", "checkpoint", "kept", "closed", "stopped"}
