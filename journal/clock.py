"""The only place that asks what time it is. Tests inject a clock of their own."""

from __future__ import annotations

import time


class Clock:
    """Wall time for records, and a monotonic reading for intervals inside this process."""

    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""
        return time.monotonic()
