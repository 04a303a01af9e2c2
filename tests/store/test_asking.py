"""A word to the process that owns a journal: left as a file, taken once, answered beside it; and what a terminal makes of it."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from journal import asking
from journal.asking import RESUME, SUSPEND, Question
from journal.cli import main, suspending
from tests.store.worlds import World

ASKED = Question("q1", SUSPEND)


def test_a_question_is_taken_once_and_answered_by_name(tmp_path: Path) -> None:
    asking.ask(tmp_path, ASKED)
    assert stat.S_IMODE((tmp_path / asking.QUESTION).stat().st_mode) == 0o600

    assert asking.take(tmp_path) == ASKED
    assert asking.take(tmp_path) is None
    asking.answer(tmp_path, ASKED, {"state": "suspending"})

    assert asking.answered(tmp_path, ASKED) == {"state": "suspending"}
    assert asking.answered(tmp_path, Question("q2", RESUME)) is None
    asking.withdraw(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", ["{", "[]", "", '{"id": 1, "what": "suspend"}', '{"id": "x", "what": "stop"}', "x" * 300_000])
def test_a_question_that_makes_no_sense_is_none(tmp_path: Path, left: str) -> None:
    (tmp_path / asking.QUESTION).write_text(left, "utf-8")

    assert asking.take(tmp_path) is None


def test_what_lies_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_text('{"id": "x", "what": "suspend"}', "utf-8")
    (tmp_path / asking.QUESTION).symlink_to(tmp_path / "real")

    assert asking.take(tmp_path) is None


@contextmanager
def answering(folder: Path, *facts: dict[str, Any]) -> Iterator[None]:
    """An owner that says these things, one after another."""

    def serve() -> None:
        while (question := asking.take(folder)) is None:
            threading.Event().wait(0.01)
        for each in facts:
            asking.answer(folder, question, each)
            threading.Event().wait(0.3)

    owner = threading.Thread(target=serve)
    owner.start()
    yield
    owner.join()


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ({"safe": True, "held": [], "text": "Safe."}, 0),
        ({"safe": True, "held": ["run"], "text": "Safe, one was cut off."}, 1),
        ({"safe": False, "held": [], "text": "A chat is not recorded."}, 1),
    ],
)
def test_the_last_word_and_the_exit_code(world: World, capsys: pytest.CaptureFixture[str], last: dict[str, Any], code: int) -> None:
    first = {"state": "suspending", "safe": False, "text": "Still at work."}
    with answering(world.folder, first, {"state": "suspended", **last}):
        assert main(["suspend", f"--folder={world.folder}", "--json"]) == code

    assert json.loads(capsys.readouterr().out) == {"server": True, "state": "suspended", **last}


def test_a_step_that_does_not_end_is_not_waited_for_longer_than_asked(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(world.folder, {"state": "suspending", "safe": False, "text": "Still at work: deploy."}):
        assert main(["suspend", f"--folder={world.folder}", "--wait=1"]) == 1

    assert capsys.readouterr().out == "Still at work: deploy.\n"


def test_an_owner_that_does_not_answer(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program owns the journal, or an older version."""
    monkeypatch.setattr(suspending, "_ANSWERS_S", 0.2)

    assert main(["suspend", f"--folder={world.folder}"]) == 4

    assert "did not answer" in capsys.readouterr().err
    assert not (world.folder / asking.QUESTION).exists()


def test_without_an_owner_there_is_nothing_to_suspend(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.close()

    assert main(["suspend", f"--folder={world.folder}"]) == 0

    assert capsys.readouterr().out == "No server runs, so nothing is at work.\n"
