"""A turn whose life ends without an end of the turn, killed with SIGKILL beside the write that says so.

Started by test_suspended.py: the folder, how the life ends ("inside" or "between": interrupted in a step or between two;
"silent": a step ends without proof; "": it does not), and the moment to die at, as `before suspend_run`, or nothing.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from journal import RunHeld, Turn, Turns
from journal.service import Journal

FOLDER, ENDS, DIES_AT = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def line(name: str, text: str) -> None:
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def moment(name: str) -> None:
    line("moments", name)
    if name == DIES_AT:
        os.kill(os.getpid(), signal.SIGKILL)


def wrap(door: str) -> None:
    original = getattr(Journal, door)

    def wrapped(self: Journal, *args: Any, **kwargs: Any) -> Any:
        moment(f"before {door}")
        future = original(self, *args, **kwargs)
        future.exception()
        moment(f"after {door}")
        return future

    setattr(Journal, door, wrapped)


def model() -> str:
    line("effects", "asked")
    return "pay"


def pay() -> str:
    line("effects", "paid")
    if ENDS == "inside":
        raise KeyboardInterrupt
    if ENDS == "silent":
        raise TimeoutError
    return "paid"


def loop(turn: Turn) -> str:
    turn.step("model", model)
    if ENDS == "between":
        raise KeyboardInterrupt
    return str(turn.step("tool:call_9", pay))


def main() -> str:
    with Turns.open(FOLDER / "journal") as turns:
        try:
            return str(turns.run("chat", "m", loop))
        except RunHeld:
            return "held"
        except KeyboardInterrupt:
            return "interrupted"


for each in ("suspend_run", "lose_call"):
    wrap(each)
sys.stdout.write(main())
