"""The bare agent of `examples/`, killed with SIGKILL at one moment of its life.

Started by test_bare_agent.py: the folder, and the number of the moment to die at (-1: none). The moments are the doors
of the journal and the effects, wrapped from outside; each is written to `moments` before it is passed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import bare_agent
from journal import driving, steps
from journal.service import Journal

FOLDER, DIES_AT = Path(sys.argv[1]), int(sys.argv[2])
DOORS = ("admit", "begin_recovery", "settle", "claim", "begin_call", "finish_call", "hold_run", "close_run")
TURN = "turn"
opened = Path.open  # as it is before it becomes a moment
passed = 0
at_work: list[str] = []


def moment(what: str, step: str) -> None:
    global passed
    line(FOLDER / "moments", f"{step} {what}")
    if passed == DIES_AT:
        os.kill(os.getpid(), signal.SIGKILL)
    passed += 1


def line(file: Path, text: str) -> None:
    with opened(file, "a") as out:
        out.write(f"{text}\n")


def wrap_door(door: str) -> None:
    original = getattr(Journal, door)

    def wrapped(self: Journal, *args: Any, **kwargs: Any) -> Any:
        step = at_work[-1] if door in ("begin_call", "finish_call") else TURN
        moment(f"before {door}", step)
        future = original(self, *args, **kwargs)
        future.exception()
        moment(f"after {door}", step)
        return future

    setattr(Journal, door, wrapped)


def wrap_steps() -> None:
    begun = steps.TurnBase._once

    def once(self: Any, asked: Any, arguments: Any) -> Any:
        at_work.append(str(asked.place))
        try:
            return (yield from begun(self, asked, arguments))
        finally:
            at_work.pop()

    steps.TurnBase._once = once  # type: ignore[method-assign]
    got = driving._get

    def get(wanted: Any) -> Any:
        if not (isinstance(wanted, driving.Effect) and at_work):
            return got(wanted)
        moment("effect begins", at_work[-1])
        value = got(wanted)
        moment("effect ended", at_work[-1])
        return value

    driving._get = get

    def open_(self: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if mode == "a":
            moment("effect writes", at_work[-1])
        return opened(self, mode, *args, **kwargs)

    Path.open = open_  # type: ignore[method-assign]


def wrap_model() -> None:
    asked = bare_agent.model

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        line(FOLDER / "requests", str(len(messages)))
        return asked(messages)

    bare_agent.model = model


for each in DOORS:
    wrap_door(each)
wrap_steps()
wrap_model()
bare_agent.FOLDER, sys.argv = FOLDER, ["bare_agent", "durable"]
bare_agent.main()
