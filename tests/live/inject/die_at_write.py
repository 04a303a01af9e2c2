"""Kills the server with SIGKILL `before` or `after` (DIE) a document is written with its call's result; the file DIED says that it did."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from usr.plugins.durable_execution.journal.service import Journal

really = Journal.finish_writing


def die() -> None:
    Path(os.environ["DIED"]).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def finish_writing(self, *args, **kwargs):
    if os.environ["DIE"] == "before":
        die()
    done = really(self, *args, **kwargs)
    done.result(20)
    die()


Journal.finish_writing = finish_writing
sys.path.remove(str(Path.cwd()))
