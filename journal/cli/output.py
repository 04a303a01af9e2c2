"""Two ways to say one thing: a table for people, a document for scripts. Remarks go to the error stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from .. import doctor
from ..errors import JournalError

_WIDEST = 72


class Output:
    """With `as_json` nothing but one document is written to standard output."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def document(self, value: Any) -> None:
        if self.as_json:
            print(json.dumps(value, ensure_ascii=False, indent=1))

    def line(self, text: str = "") -> None:
        if not self.as_json:
            print(printable(text))

    def facts(self, pairs: Sequence[tuple[str, Any]]) -> None:
        """Names and values, one a line."""
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            self.line(f"{name.ljust(width)}  {value}")

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Columns as wide as they need to be; the last one is cut, never wrapped."""
        cells = [[printable(str(cell)) for cell in row] for row in rows]
        widths = [max(len(head), *(len(row[n]) for row in cells), 0) if cells else len(head) for n, head in enumerate(heads)]
        for row in [list(heads), *cells]:
            *first, last = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            last = last.rstrip()
            self.line("  ".join([*first, last if len(last) <= _WIDEST else f"{last[: _WIDEST - 1]}…"]))

    def say(self, text: str) -> None:
        """A remark beside the answer: what was locked, how far it is, what to do next."""
        print(printable(text), file=sys.stderr)

    def failed(self, error: JournalError) -> None:
        self.document({"error": error.code, "text": str(error)})
        self.say(str(error))


def agreed(question: str) -> bool:
    """Whether the person types yes. The end of what can be typed (Ctrl-D) is no."""
    try:
        return input(question).strip().lower() == "yes"
    except EOFError:
        print()
        return False


def printable(text: str) -> str:
    """Nothing that comes from a run may steer the terminal: control characters are shown, not sent."""
    shown = "".join(c if c.isprintable() else " " if c in "\t\n" else c.encode("unicode_escape", "replace").decode() for c in text)
    return shown.encode("utf-8", "backslashreplace").decode()


def moment(ms: int | None) -> str:
    return "–" if ms is None else doctor.moment(ms)


size = doctor.size
