"""A tool call whose effect can be counted, and stopped in the middle without a clock.

The command writes "start", waits for a file, writes "end". Everything happens in one folder that
the test made; the command goes on when the server that started it is dead.
"""

from __future__ import annotations

import time
from pathlib import Path

from .model import shell

WAIT = 30.0


class Effect:
    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self._lines = folder / f"{name}.lines"
        self._gate = folder / f"{name}.go"

    def once(self) -> str:
        """The model's answer that asks for one line, without a stop."""
        return shell(self.command())

    def command(self) -> str:
        """The command itself: one line."""
        return f"echo {self.name} >> {self._lines}"

    def gated(self, first: str = "") -> str:
        """The model's answer that asks for a command which waits for `let_go`; `first` is put before it."""
        wait = f"until [ -e {self._gate} ]; do sleep 0.05; done"
        return shell(f"{first}echo start >> {self._lines}; {wait}; echo end >> {self._lines}")

    def let_go(self) -> None:
        self._gate.touch()

    @property
    def lines(self) -> list[str]:
        return self._lines.read_text().split() if self._lines.exists() else []

    def wait_for(self, *expected: str) -> None:
        """Wait until the effect's lines are exactly these, or fail with what they are."""
        until = time.monotonic() + WAIT
        while self.lines != list(expected):
            if time.monotonic() > until or len(self.lines) > len(expected):
                raise AssertionError(f"effects {self.lines}, expected {list(expected)}")
            time.sleep(0.02)
