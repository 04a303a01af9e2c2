"""Looks whether a journal can do its work: the machine, the place, the host's files, what is recorded. Changes nothing.

Each finding is a fact in words, and what a person can do where it is not as it should be. It is asked by the command
line and by a server's settings page.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from . import backup, restore
from .accepted import closest
from .errors import JournalError
from .look import Look
from .masking import Masker
from .store import connections, filesystems
from .verify import Progress, verify

_ENOUGH = 64 * 1024 * 1024
_OLDEST_PYTHON = (3, 12)
_OLDEST_SQLITE = (3, 40)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `ok` False needs a person, and `text` says what to do."""

    what: str
    ok: bool
    text: str


def machine() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", sys.version_info >= _OLDEST_PYTHON, f"{python} (3.12 or newer is needed)")
    yield Finding("SQLite", connections.SQLITE >= _OLDEST_SQLITE, f"{'.'.join(map(str, connections.SQLITE))} (3.40 or newer is needed)")


def place(folder: Path) -> Iterator[Finding]:
    there = next((part for part in (folder, *folder.parents) if part.exists()), Path("/"))
    ground = filesystems.place_of(there)
    try:
        safe = ground.mode is filesystems.Mode.WAL
        text = f"{ground.kind or 'unknown'}, {'safe' if safe else 'works without a write-ahead log, slower'}"
        yield Finding("file system", True, " ".join([text, *ground.notes]))
    except JournalError as error:
        yield Finding("file system", False, str(error))
    free = shutil.disk_usage(there).free
    yield Finding("free space", free >= _ENOUGH, f"{size(free)} (at least {size(_ENOUGH)} should be free)")
    if not folder.exists():
        yield Finding("folder", True, f"{folder} does not exist yet")
        return
    open_to_others = list(_open_to_others(folder))
    told = "readable by their owner alone" if not open_to_others else f"others can read {', '.join(open_to_others[:5])}: chmod go= them"
    yield Finding("private files", not open_to_others, told)
    yield from _replaced(folder)


def _open_to_others(folder: Path) -> Iterator[str]:
    """Names in the folder that others may read. A running server makes and removes files meanwhile: what is gone is private."""
    for path in (folder, *_inside(folder)):
        with suppress(FileNotFoundError):
            if stat.S_IMODE(path.lstat().st_mode) & 0o077:
                yield path.name


def _inside(folder: Path) -> Iterator[Path]:
    return (Path(parent, name) for parent, folders, files in os.walk(folder) for name in (*folders, *files))


def _replaced(folder: Path) -> Iterator[Finding]:
    """What restores left beside the journal. It may be large, and goes only by hand."""
    left = sorted(folder.glob(f"{restore.ASIDE}*"))
    if left:
        taken = sum(_bytes(path) for each in left for path in _inside(each))
        names = ", ".join(each.name for each in left[:5]) + (" …" if len(left) > 5 else "")
        told = f"{size(taken)} in {folder}: {names}. Remove them when nothing of them is missed"
        yield Finding("replaced journals", True, told)


def _bytes(path: Path) -> int:
    with suppress(FileNotFoundError):
        known = path.lstat()
        return known.st_size if stat.S_ISREG(known.st_mode) else 0
    return 0


def host(root: Path, plugin: Path) -> Iterator[Finding]:
    """Whether the host's files are those that were reviewed: by their bytes; what a server has loaded is not seen here."""
    match = closest(root, json.loads((plugin / "UPSTREAM.json").read_text(encoding="utf-8"))["hosts"])
    if not match.changed:
        yield Finding("host files", True, f"as reviewed, {match.label}")
        return
    names = ", ".join(match.changed[:5]) + (" …" if len(match.changed) > 5 else "")
    yield Finding("host files", False, f"{len(match.changed)} differ from {match.label}: {names}. Update the plugin or restore them.")


def journal(folder: Path, masker: Masker) -> Iterator[Finding]:
    """The journal as it stands, and its backups; without reading every record."""
    try:
        facts = Look(folder, masker=masker).status()
    except JournalError as error:
        yield Finding("journal", False, str(error))
        return
    counts = facts["counts"] or {}
    yield Finding("journal", not facts["newer"], f"schema {facts['schema']}, {'in use' if facts['owned'] else 'not in use'}")
    held = counts.get("needs_you", 0)
    yield Finding("held runs", not held, f"{held} wait for your decision" if held else "none")
    copies = backup.list_all(folder)
    whole = [each.manifest for each in copies if each.manifest is not None]
    told = f"{len(whole)}, the newest of {moment(whole[0].made_at)} UTC" if whole else "none yet: python -m journal backup"
    yield Finding("backups", len(whole) == len(copies), told if len(whole) == len(copies) else f"{len(copies) - len(whole)} cannot be used")


def records(folder: Path, step: Callable[[Progress], None]) -> Iterator[str]:
    """Read every record and name the faults; `step` hears how far it is, and may raise to stop."""
    for progress in verify(folder):
        step(progress)
        yield from progress.faults


def of_records(faults: list[str]) -> Finding:
    return Finding("records", not faults, f"{len(faults)} not as written: python -m journal verify" if faults else "all as written")


def moment(ms: int) -> str:
    """A time of the journal in UTC, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def size(number: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number = number / 1024
    return f"{number:.1f} GiB"
