"""Kills the server with SIGKILL when the first result of a tool is recorded, once: the file DIED says that it did."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from usr.plugins.durable_execution.journal.service import Journal

really = Journal.finish_call


def finish_call(self, call_id, outcome, value, **kwargs):
    done = really(self, call_id, outcome, value, **kwargs)
    if isinstance(value, dict) and "break_loop" in value and not Path(os.environ["DIED"]).exists():
        done.result(20)
        Path(os.environ["DIED"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return done


Journal.finish_call = finish_call
sys.path.remove(str(Path.cwd()))
