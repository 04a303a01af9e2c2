"""Run inside the host's process before it starts: a chat that kills it with SIGKILL while the file `deadly` stands in TRAP.

`DEADLY` says when: `load` (its chat is rebuilt) or `launch` (its loop goes on after a restart). The guilty chat is the
one with the word "guilty" in it. `MEMORY` names a file with the system's count of kills for lack of memory.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from usr.plugins.durable_execution.bridge import endings, launching, resume

TRAP = Path(os.environ["TRAP"])
WHEN = os.environ.get("DEADLY", "")


def _die() -> None:
    with (TRAP / "deaths").open("a") as file:
        file.write("died\n")
        file.flush()
        os.fsync(file.fileno())
    os.kill(os.getpid(), signal.SIGKILL)


def _is_deadly() -> bool:
    return (TRAP / "deadly").exists()


_rebuild, _launch = resume.rebuild, launching._launch


def rebuilding(point):
    ctx = _rebuild(point)
    if WHEN == "load" and _is_deadly() and "guilty" in str([log.content for log in ctx.log.logs]):
        _die()
    return ctx


def launching_run(active, session):
    with (TRAP / "launched").open("a") as file:
        file.write(f"{session.run.input['text']}\n")
    if WHEN == "launch" and _is_deadly() and "guilty" in session.run.input["text"]:
        session.activation.journal.claim(session.run.run_id).result(20)
        _die()
    _launch(active, session)


resume.rebuild, launching._launch = rebuilding, launching_run
if "MEMORY" in os.environ:
    endings.memory = lambda: {"place": "here", "kills": int(Path(os.environ["MEMORY"]).read_text())}
