"""What can be known of how an earlier process ended: the system's own count of kills for lack of memory.

Noted with each start; two notes are compared later. What cannot be read is not known, never guessed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SYSTEM = Path("/")


def memory(root: Path = _SYSTEM) -> dict[str, Any]:
    """The count of this process's control group and which group that is; empty where there is none."""
    for counter in _counters(root):
        try:
            lines = counter.read_text(encoding="ascii").splitlines()
            inode = counter.parent.stat().st_ino
            boot = (root / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        kills = [int(line.split()[1]) for line in lines if line.startswith("oom_kill ")]
        if kills:
            return {"place": f"{boot}:{inode}", "kills": kills[0]}
    return {}


def _counters(root: Path) -> list[Path]:
    """Where the count stands, in the second and in the first version of control groups."""
    try:
        groups = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return []
    base = root / "sys/fs/cgroup"
    second = [base / path.lstrip("/") / "memory.events" for _, names, path in groups if not names]
    first = [base / "memory" / path.lstrip("/") / "memory.oom_control" for _, names, path in groups if "memory" in names.split(",")]
    return [*second, base / "memory.events", *first, base / "memory/memory.oom_control"]
