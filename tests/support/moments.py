"""Run inside the host's process before it starts: kills it with SIGKILL at one named moment.

The product has no switch for this. The moments are the journal's doors and the two
places where a chat is rebuilt and launched; `FAULT` names one as `<when>:<door>:<n>`,
where n counts matching passages from 1 (`before:begin_call.tool:1`). The kill happens
once in a world: a mark file keeps it from happening again after the restart, unless
`FAULT_AGAIN` is set.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from usr.plugins.durable_execution.bridge import launching, resume
from usr.plugins.durable_execution.journal.service import Journal

DOORS = (
    "admit",
    "keep_input",
    "begin_call",
    "finish_call",
    "checkpoint",
    "close_run",
    "begin_recovery",
    "settle",
    "all_waiting",
    "claim",
    "decide",
    "choose_state",
    "state_restored",
    "grant",
    "stop_run",
)
_counts: dict[str, int] = {}


def _die() -> None:
    mark = Path(os.environ["FAULT_MARK"])
    if mark.exists() and not os.environ.get("FAULT_AGAIN"):
        return
    with mark.open("a") as file:
        file.write("killed\n")
        file.flush()
        os.fsync(file.fileno())
    os.kill(os.getpid(), signal.SIGKILL)


def _names(door: str, args: tuple, kwargs: dict, calls: dict) -> list[str]:
    names = [door]
    if door == "begin_call":
        names.append(f"{door}.{args[3].kind.value}")
    if door == "finish_call":
        names.append(f"{door}.{calls.get(args[0], '')}")
    return names


def _passes(moment: str, names: list[str], fault: str) -> bool:
    when, door, nth = fault.split(":")
    if when != moment or door not in names:
        return False
    key = f"{moment}:{door}"
    _counts[key] = _counts.get(key, 0) + 1
    return _counts[key] == int(nth)


def _wrap(door: str, fault: str, calls: dict) -> None:
    original = getattr(Journal, door)

    def wrapped(self, *args, **kwargs):
        names = _names(door, args, kwargs, calls)
        if _passes("before", names, fault):
            _die()
        future = original(self, *args, **kwargs)
        if fault.startswith("after:") and fault.split(":")[1] in names:
            answer = future.result(20)
            if _passes("after", names, fault):
                _die()
            if door == "begin_call":
                calls[answer.call.call_id] = args[3].kind.value
        elif door == "begin_call":
            future.add_done_callback(lambda done: _remember(done, args[3].kind.value, calls))
        return future

    setattr(Journal, door, wrapped)


def _remember(done, kind: str, calls: dict) -> None:
    if done.exception() is None and hasattr(done.result(), "call"):
        calls[done.result().call.call_id] = kind


def _install() -> None:
    fault = os.environ.get("FAULT", "")
    if not fault:
        return
    calls: dict[str, str] = {}
    for door in DOORS:
        _wrap(door, fault, calls)
    rebuild, launched = resume.rebuild, launching._launch

    def rebuilding(point):
        if _passes("before", ["rebuild"], fault):
            _die()
        ctx = rebuild(point)
        if _passes("after", ["rebuild"], fault):
            _die()
        return ctx

    def launching_run(active, session):
        launched(active, session)
        if _passes("after", ["launch"], fault):
            _die()

    resume.rebuild, launching._launch = rebuilding, launching_run


_install()
