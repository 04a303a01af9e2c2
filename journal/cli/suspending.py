"""Asks the running server to put everything aside for a restart, or to go on, and waits for its word."""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import asking
from ..asking import RESUME, SUSPEND, Question
from ..clock import Clock
from ..errors import NotAllowed, StoreLocked
from ..ids import Ids
from ..look import Look
from .known import masker
from .output import Output

_ANSWERS_S = 10.0
_LOOK_S = 0.1


def add_to(commands: Any, common: argparse.ArgumentParser) -> None:
    suspend = commands.add_parser("suspend", parents=[common], help="put everything that runs aside for a restart (needs a running server)")
    suspend.add_argument("--resume", action="store_true", help="no restart came: go on")
    suspend.add_argument("--wait", type=int, default=60, metavar="SECONDS", help="how long steps that still run are waited for (60)")
    suspend.set_defaults(command=suspend_server)


def suspend_server(asked: argparse.Namespace, out: Output) -> bool:
    if asked.wait < 1:
        raise NotAllowed("--wait must be 1 or more.")
    if Look(asked.folder, masker=masker(asked)).status()["owned"] is False:
        out.document({"server": False, "safe": True})
        out.line("No server runs, so nothing is at work.")
        return False
    question = Question(Ids().new("question"), RESUME if asked.resume else SUSPEND)
    try:
        asking.ask(asked.folder, question)
        facts = _wait(asked.folder, question, asked.wait)
    except OSError as error:
        raise StoreLocked(f"The server could not be asked: {error.strerror}.") from error
    finally:
        with contextlib.suppress(OSError):
            asking.withdraw(asked.folder)
    out.document({"server": True, **facts})
    out.line(facts["text"])
    return not facts.get("safe", True) or bool(facts.get("held"))


def _wait(folder: Path, question: Question, seconds: float) -> dict[str, Any]:
    """The last word of the server within this time."""
    clock = Clock()
    facts = _until(lambda: asking.answered(folder, question), clock, clock.monotonic() + _ANSWERS_S)
    if facts is None:
        raise StoreLocked("The process that has the journal did not answer. Its version may be older, or the plugin is not active in it.")
    ended = _until(lambda: _settled(asking.answered(folder, question)), clock, clock.monotonic() + seconds)
    return ended or asking.answered(folder, question) or facts


def _settled(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    return facts if facts is not None and facts.get("state") != "suspending" else None


def _until(look: Callable[[], dict[str, Any] | None], clock: Clock, end: float) -> dict[str, Any] | None:
    pause = threading.Event()
    while (found := look()) is None and clock.monotonic() < end:
        pause.wait(_LOOK_S)
    return found
