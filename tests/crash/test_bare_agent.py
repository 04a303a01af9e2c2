"""The bare agent of `examples/`, killed at every boundary of every step, and run again until it is done.

The truth is outside: lines in the bank's file, lines in the notes, requests that the model received. The person in
between is honest: they look there, and say what they see.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from examples.bare_agent import REVIEWED
from journal import Choice, HeldRun, Turns
from journal.records import HoldReason, RunState
from tests.support.sampling import thorough

CHILD = Path(__file__).with_name("agent_child.py")
ANSWER = "The invoice is paid and noted."
ORIGIN = "test"
ASKED = ["1", "3", "5", "7"]
MODELS = ["model:1", "model:2", "model:3", "model:4"]
READ, PAY, NOTE = "tool:1:0:call_1", "tool:2:0:call_2", "tool:3:0:call_3"
STEPS = ["turn", *MODELS, READ, PAY, NOTE]

OPEN = {"after begin_call", "effect begins", "effect writes", "effect ended", "before finish_call"}
"""Between these the intent is written and the result is not."""
ANSWERED = {"effect ended", "before finish_call"}

pytestmark = pytest.mark.crash


class World:
    """One folder: the journal and everything outside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.held: list[str] = []

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def live(self, dies_at: int = -1) -> str | None:
        """One process. What it said, or None if it was killed."""
        done = subprocess.run([sys.executable, str(CHILD), str(self.folder), str(dies_at)], capture_output=True, text=True, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.stdout.strip() if done.returncode == 0 else None

    def decide(self) -> None:
        """What an honest person says about whatever waits."""
        with Turns.open(self.folder / "journal", REVIEWED) as turns:
            for held in turns.held():
                self.held += [held.reason.value, *held.steps]
                self._say(turns, held)

    def _say(self, turns: Turns, held: HeldRun) -> None:
        if held.reason is HoldReason.MODEL_INTERRUPTED:
            turns.grant(held, origin=ORIGIN)
        elif held.reason is HoldReason.CRASH_LOOP and not held.steps:
            turns.decide(held, Choice.RESUME, origin=ORIGIN)
        elif self.lines("notes.txt"):
            turns.decide(held, Choice.CONFIRMED_COMPLETED, origin=ORIGIN, note="It stands in the notes.", result_text="noted")
        else:
            turns.decide(held, Choice.CONFIRMED_NOT_COMPLETED, origin=ORIGIN, note="The notes are empty.")

    def finish(self) -> str:
        """Run it again until it answers."""
        for _ in range(6):
            said = self.live()
            if said == ANSWER:
                return said
            self.decide()
        raise AssertionError(f"it does not end: {said}")

    def check(self) -> None:
        """The effects are there exactly once, and the run ended with its answer."""
        assert self.lines("notes.txt") == ["paid ACME"]
        assert [line.split(" ", 1)[1] for line in self.lines("bank.txt")] == ["ACME 4200"]
        with Turns.open(self.folder / "journal", REVIEWED) as turns:
            (run,) = turns.journal.runs_of("chat")
            assert (run.state, run.answer) == (RunState.COMPLETED, ANSWER)
            keys = [call.key for call in turns.journal.calls(run.run_id)]
            assert len(keys) == len(set(keys)) == len(STEPS) - 1


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[int, str, str]]]:
    """Every moment of a life that is not disturbed: number, step, what."""
    world = World(tmp_path_factory.mktemp("clean") / "world")
    assert world.live() == ANSWER
    world.check()
    assert world.lines("requests") == ASKED
    seen = [line.split(" ", 1) for line in world.lines("moments")]
    return [(number, step, what) for number, (step, what) in enumerate(seen)]


def test_done_is_done(tmp_path: Path) -> None:
    world = World(tmp_path / "world")

    assert [world.live(), world.live()] == [ANSWER, ANSWER]

    world.check()
    assert world.lines("requests") == ASKED


def test_a_second_process_is_refused_clearly_and_starts_nothing(tmp_path: Path) -> None:
    world = World(tmp_path / "world")

    with Turns.open(world.folder / "journal"):
        second = subprocess.run([sys.executable, str(CHILD), str(world.folder), "-1"], capture_output=True, text=True, check=False)

    assert second.returncode == 1
    assert "StoreLocked: Another process is using the journal." in second.stderr
    assert world.lines("requests") == []


def test_every_step_has_all_its_moments(moments: list[tuple[int, str, str]]) -> None:
    everywhere = {"before begin_call", "after begin_call", "effect begins", "effect ended", "before finish_call", "after finish_call"}
    found: dict[str, set[str]] = {}
    for _, step, what in moments:
        found.setdefault(step, set()).add(what)

    assert found.pop("turn") == {"before admit", "after admit", "before close_run", "after close_run"}
    assert found == {step: everywhere | ({"effect writes"} if step in (PAY, NOTE) else set()) for step in STEPS[1:]}


@pytest.mark.parametrize("step", ["turn", *MODELS[:1], PAY, *thorough(*MODELS[1:], READ, NOTE)])
def test_killed_at_every_moment_of_a_step_it_does_everything_once(moments: list[tuple[int, str, str]], step: str, tmp_path: Path) -> None:
    def story(point: tuple[int, str, str]) -> None:
        number, _, what = point
        world = World(tmp_path / str(number))

        assert world.live(dies_at=number) is None
        assert world.finish() == ANSWER

        world.check()
        is_open = what in OPEN
        expected = ["model_interrupted", step] if step in MODELS else ["outcome_unknown", step] if step == NOTE else []
        assert world.held == (expected if is_open else []), what
        again = [ASKED[MODELS.index(step)]] if step in MODELS and what in ANSWERED else []
        assert sorted(world.lines("requests")) == sorted(ASKED + again), what

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(story, [point for point in moments if point[1] == step]))


def test_killed_in_every_life_one_moment_later_it_still_does_everything_once(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    said, lives = None, 0
    while said != ANSWER:
        said = world.live(dies_at=lives)
        world.decide()
        lives += 1

    world.check()
    assert lives > len(STEPS)
    assert set(world.lines("requests")) == set(ASKED)
    assert {"turn before begin_recovery", "turn after begin_recovery", "turn after settle", "turn after claim"} <= set(
        world.lines("moments")
    )
