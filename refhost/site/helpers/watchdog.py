"""Sees that files of user plugins changed by hand: toggles, `hooks.py`, extensions. Looks now and then, on a thread."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers import files, plugins
from helpers.print_style import PrintStyle

WATCH_SECONDS = float(os.environ.get("WATCH_SECONDS", "0.3"))


def register_watchdogs() -> None:
    """What changes from this moment on is seen, however late the thread begins."""
    threading.Thread(target=_watch, args=(_look(),), daemon=True, name="Watchdog").start()


def _watch(known: dict[Path, int]) -> None:
    wait = threading.Event()
    while not wait.wait(WATCH_SECONDS):
        seen = _look()
        root = Path(files.get_abs_path(files.USER_DIR, files.PLUGINS_DIR))
        handler = _DispatchHandler()
        for path in {*seen, *known}:
            if seen.get(path) != known.get(path):
                handler.dispatch(SimpleNamespace(src_path=str(path), dest_path=""))
        known, changed = seen, handler.changed
        if changed:
            names = sorted({path.relative_to(root).parts[0] for path in changed})
            plugins.after_plugin_change(names, python_change=any(path.suffix == ".py" for path in changed))
            PrintStyle.debug("Plugin files changed:", names)  # last: whoever waits for it knows that it was acted on


class _DispatchHandler:
    """Hears of one change after another."""

    def __init__(self) -> None:
        self.changed: list[Path] = []

    def dispatch(self, event: Any) -> None:
        self.changed.append(Path(event.src_path))


def _look() -> dict[Path, int]:
    seen: dict[Path, int] = {}
    root = Path(files.get_abs_path(files.USER_DIR, files.PLUGINS_DIR))
    for pattern in ("*/.toggle-[01]", "*/hooks.py", "*/extensions/**/*.*"):
        for path in root.glob(pattern):
            if "__pycache__" not in path.parts:
                try:
                    seen[path] = path.stat().st_mtime_ns
                except FileNotFoundError:
                    continue  # gone between the two looks
    return seen
