"""Puts a whole new journal in the place of the present one, and keeps the present one whole beside it.

The switch is written down before its first step. A process that dies in the middle leaves a note, and whoever opens
the journal next, with its lock, takes the remaining steps first: there is no moment at which half a journal counts.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from ..errors import StoreLost
from .bodies import in_our_words, sync, write_whole

NOTE = "journal.switch"
FRESH = "journal.restoring"
"""Where the new journal is made."""
_SIDES = ("journal.db-wal", "journal.db-shm", "journal.db-journal")
_PARTS = ("blobs", "journal.db")
"""Moved in this order: the database last, since its place in the new folder tells how far the switch has come."""


def begin(folder: Path, fresh: Path, aside: Path) -> None:
    """Note what is about to happen; from here on it happens, now or at the next opening. Both lie in the folder."""
    if not all((fresh / name).exists() for name in _PARTS) or (fresh / "journal.db-wal").exists():
        raise StoreLost(f"{fresh.name} is not a whole journal.")
    with in_our_words():
        write_whole(folder / NOTE, json.dumps({"fresh": fresh.name, "aside": aside.name}).encode())
        sync(folder)


def is_pending(folder: Path) -> bool:
    return (folder / NOTE).exists()


def finish(folder: Path) -> None:
    """Take the steps that remain; each may be taken again. Only with the journal's lock. Raises StoreLost."""
    note = folder / NOTE
    try:
        said = json.loads(note.read_bytes())
        fresh, aside = folder / said["fresh"], folder / said["aside"]
    except FileNotFoundError:
        _remove_unnoted(folder)
        return
    except (ValueError, KeyError, TypeError) as error:
        raise StoreLost(f"{NOTE} cannot be read. A restore was cut off; the journals stand beside it.") from error
    try:
        if (fresh / "journal.db").exists():
            _swap(folder, fresh, aside)
        shutil.rmtree(fresh, ignore_errors=True)
        note.unlink()
        sync(folder)
    except OSError as error:
        raise StoreLost(f"A restore could not be finished: {error.strerror}.") from error


def _remove_unnoted(folder: Path) -> None:
    """A copy that was being made when its process ended: without a note nothing was to happen, and the journal stands as it was."""
    shutil.rmtree(folder / FRESH, ignore_errors=True)


def _swap(folder: Path, fresh: Path, aside: Path) -> None:
    aside.mkdir(mode=0o700, exist_ok=True)
    for name in _SIDES:  # a new journal has none: what stands there is the old one's
        if (folder / name).exists():
            (folder / name).rename(aside / name)
    for name in _PARTS:
        if not (fresh / name).exists():
            continue  # it is in its place
        if (folder / name).exists():
            (folder / name).rename(aside / name)
            sync(aside)
        (fresh / name).rename(folder / name)
        sync(folder)
