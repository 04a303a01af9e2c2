"""Runs inside a host before it starts: notes how long each hook kept the loop for the journal, and how long each commit took."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from usr.plugins.durable_execution.bridge import waiting
from usr.plugins.durable_execution.journal.store.writer import Writer

_notes = Path(os.environ["BENCH_HOLDS"]).open("a", buffering=1)  # noqa: SIM115 - open as long as the server lives


def _timed(owner: Any, name: str, word: str) -> None:
    original = getattr(owner, name)

    def timed(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            _notes.write(json.dumps({word: time.perf_counter() - started}) + "\n")

    setattr(owner, name, timed)


_timed(waiting, "_quick", "hold")
_timed(Writer, "_commit", "commit")
