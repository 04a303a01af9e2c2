"""How often a turn really syncs, counted by the kernel where strace is there: a small program of its own, traced."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from .rounds import TOP

PROGRAM = """
import sys
import time
from pathlib import Path
from bench.engine import Engine
engine = Engine(Path(sys.argv[1]))
turn = engine.turn_of_5 if sys.argv[2] == "5" else engine.turn_of_9
for _ in range(2):
    turn()
while not engine.journal._store._witness.has_heads:
    time.sleep(0.01)  # they are made in a pause, and synced once
Path(sys.argv[1], "begin").touch()
for _ in range(3):
    turn()
Path(sys.argv[1], "end").touch()
engine.close()
"""
TURNS = 3
_SYNC = re.compile(r"\b(fdatasync|fsync)\(")


def count(folder: Path, way: str) -> float | None:
    """Syncs a turn, or None where they cannot be traced."""
    strace = shutil.which("strace")
    if strace is None:
        return None
    folder.mkdir(parents=True)
    trace = folder / "trace"
    command = [strace, "-f", "-e", "trace=fsync,fdatasync,openat,utimensat", "-o", str(trace)]
    done = subprocess.run([*command, sys.executable, "-c", PROGRAM, str(folder), way], cwd=TOP, capture_output=True, timeout=300)
    if done.returncode:
        return None
    lines = trace.read_text(errors="replace").splitlines()
    marks = [at for at, line in enumerate(lines) if re.search(rf'"{re.escape(str(folder))}/(begin|end)"', line)]
    within = lines[marks[0] : marks[-1]]
    return sum(1 for line in within if _SYNC.search(line) and "resumed" not in line) / TURNS
