"""Process-wide cache in named areas. Owns the lock around it; never knows what an entry means."""

from __future__ import annotations

import threading
import time
from fnmatch import fnmatch
from typing import Any

_lock = threading.RLock()
_areas: dict[str, dict[Any, list[Any]]] = {}  # area -> key -> [value, last use]


def get(area: str, key: Any, default: Any = None) -> Any:
    with _lock:
        entry = _areas.get(area, {}).get(key)
        if entry is None:
            return default
        entry[1] = time.monotonic()
        return entry[0]


def has(area: str, key: Any) -> bool:
    with _lock:
        return key in _areas.get(area, {})


def add(area: str, key: Any, data: Any) -> None:
    with _lock:
        _areas.setdefault(area, {})[key] = [data, time.monotonic()]


def remove(area: str, key: Any) -> None:
    with _lock:
        _areas.get(area, {}).pop(key, None)


def clear(area: str) -> None:
    """Drops every area that fits the pattern."""
    with _lock:
        for name in [name for name in _areas if fnmatch(name, area)]:
            del _areas[name]


def clear_all() -> None:
    with _lock:
        _areas.clear()


def trim_cache(area: str, seconds: float = 300) -> None:
    """Drops entries that were not used for so long: extension files are then executed anew."""
    oldest = time.monotonic() - seconds
    with _lock:
        for name in [name for name in _areas if fnmatch(name, area)]:
            _areas[name] = {key: entry for key, entry in _areas[name].items() if entry[1] >= oldest}


def determine_cache_key(agent: Any, *additional: Any) -> tuple[Any, ...]:
    if agent is None:
        return ("none", "none", *additional)
    project = agent.context.get_data("project") or "none"
    return (agent.config.profile or "none", project, *additional)
