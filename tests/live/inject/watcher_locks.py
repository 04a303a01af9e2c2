"""Runs inside the server: whether the host could begin to watch something while the file that was asked for is written.

For that it holds a lock of its own and needs one that belongs to the thread of its watchers, which hands on what was written.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

asked, answer = Path(os.environ["LIVE_ASKED"]), Path(os.environ["LIVE_ANSWER"])
NOTICED_S = 1.0
PATIENCE_S = 3.0


def look() -> None:
    while True:
        time.sleep(0.05)
        if not asked.exists():
            continue
        from helpers import watchdog

        file = Path(asked.read_text(encoding="utf-8"))
        with watchdog._registry._lock:
            file.touch()
            time.sleep(NOTICED_S)
            observers = watchdog._registry._observer._lock
            free = observers.acquire(timeout=PATIENCE_S)
            if free:
                observers.release()
        file.unlink()
        asked.unlink()
        answer.write_text("free" if free else "taken", encoding="utf-8")


threading.Thread(target=look, daemon=True).start()
