"""An agent in one process, with a world outside that counts what was done to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from journal import Turns
from journal.masking import Secret
from journal.reviewed import Entry
from tests.store.worlds import TestClock

ORIGIN = "test"


class Outside:
    """Effects are lines in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, line: str) -> None:
        with self.file.open("a") as file:
            file.write(f"{line}\n")

    @property
    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []


class Agent:
    """Opens a journal, takes turns, and is restarted: what a killed process would leave is what it leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "journal"
        self.outside = Outside(folder / "outside")
        self.clock = TestClock()
        self.secrets: list[Secret] = []
        self.turns: Turns | None = None

    def open(self, reviewed: Iterable[Entry] = ()) -> Turns:
        self.close()
        self.turns = Turns.open(self.folder, reviewed, secrets=lambda: self.secrets, clock=self.clock)
        return self.turns

    def close(self) -> None:
        if self.turns is not None:
            self.turns.close()
            self.turns = None

    def run(self, loop: Callable[..., Any], message: str = "m", chat: str = "chat", **content: Any) -> Any:
        assert self.turns is not None
        return self.turns.run(chat, message, loop, **content)


class Killed(BaseException):
    """Stands for the end of the process: the loop never sees it as an error, and nothing is written after it."""


def crash(agent: Agent, loop: Callable[..., Any], **content: Any) -> None:
    """Let a turn end at the place where the loop, or a step of it, raises Killed, without a word to the journal."""
    assert agent.turns is not None
    journal = agent.turns.journal
    journal.suspend_run = _nothing  # type: ignore[assignment]
    try:
        agent.run(loop, **content)
    except Killed:
        return
    raise AssertionError("the loop went through")


def _nothing(*_: Any) -> Any:
    raise Killed
