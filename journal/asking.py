"""A word to the process that owns a journal, left as a small private file in its folder, and its answer beside it.

Whoever may write there may end that process anyway, so the file gives nobody a power that they lack. It decides nothing
about any run: decisions are made in the panel, or while nobody owns the journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUSPEND, RESUME = "suspend", "resume"
QUESTION, ANSWER = "asked.json", "answered.json"
_MOST = 256 * 1024


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the name under which the answer is looked for."""

    ident: str
    what: str


def ask(folder: Path, question: Question) -> None:
    """Leave a question; one that nobody took yet gives way."""
    _write(folder / QUESTION, {"id": question.ident, "what": question.what})


def withdraw(folder: Path) -> None:
    """Nobody takes it any more, and no answer is left lying about."""
    for name in (QUESTION, ANSWER):
        (folder / name).unlink(missing_ok=True)


def take(folder: Path) -> Question | None:
    """The owner takes the question that was left, if there is one that can be understood."""
    found = _read(folder / QUESTION)
    if found is None:
        return None
    (folder / QUESTION).unlink(missing_ok=True)
    ident, what = found.get("id"), found.get("what")
    return Question(ident, what) if isinstance(ident, str) and what in (SUSPEND, RESUME) else None


def answer(folder: Path, question: Question, facts: dict[str, Any]) -> None:
    _write(folder / ANSWER, {"id": question.ident, "facts": facts})


def answered(folder: Path, question: Question) -> dict[str, Any] | None:
    """What the owner said to this question last."""
    found = _read(folder / ANSWER)
    facts = found.get("facts") if found is not None and found.get("id") == question.ident else None
    return facts if isinstance(facts, dict) else None


def _write(path: Path, value: dict[str, Any]) -> None:
    """Whole or not at all, and nobody else's to read."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as out:
        json.dump(value, out)
    beside.rename(path)


def _read(path: Path) -> dict[str, Any] | None:
    """None for what is not there, or is no small file with a JSON object."""
    with contextlib.suppress(OSError, ValueError):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(file, "rb") as source:
            if stat.S_ISREG(os.fstat(file).st_mode):
                value = json.loads(source.read(_MOST))
                return value if isinstance(value, dict) else None
    return None
