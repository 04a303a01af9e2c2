"""Digests of files that are looked at each minute: what nobody wrote since is not read again.

Agent Zero hears of every file that is opened below its folders, which costs it more than the reading costs us. What tells is
the file itself: which one it is, how large, and when it was last changed; that moment only the machine's clock sets. Two changes
within one tick of that clock look alike, so what was changed a moment ago is read each time; and everything is, each hour.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..journal.accepted import digest
from ..journal.clock import Clock

SETTLED_MS = 2000
ANEW_S = 3600.0

_Stamp = tuple[int, ...]
_clock = Clock()


class _Seen[T](NamedTuple):
    """What was found, under which stamp, and until when that may be believed."""

    stamp: _Stamp
    found: T
    until: float


class Unread:
    """What is remembered of files and folders. Used by one thread at a time, or by several that do the same work twice."""

    def __init__(self) -> None:
        self._digests: dict[str, _Seen[str]] = {}
        self._folders: dict[str, _Seen[tuple[list[str], list[str]]]] = {}

    def digest(self, path: str) -> str:
        """SHA-256 of a file's bytes in hex; empty where it cannot be read."""
        stamp = _stamp(path)
        known = _still(self._digests, path, stamp)
        if known is not None:
            return known
        found = digest(Path(path))  # read after the stamp: what changes in between has another one next time
        _remember(self._digests, path, stamp if found else None, found)  # what could not be read just now may be in a moment
        return found

    def below(self, folder: str) -> Iterator[str]:
        """Every regular file below a folder, except bytecode. Nothing where there is no folder."""
        names, folders = self._entries(folder)
        yield from _regular(names)
        for each in folders:
            yield from self.below(each)

    def directly_in(self, folder: str) -> Iterator[str]:
        yield from _regular(self._entries(folder)[0])

    def _entries(self, folder: str) -> tuple[list[str], list[str]]:
        """What lies in a folder: names that are no folder, and folders. A link to a folder is none. Raises OSError if that is not known."""
        stamp = _stamp(folder)
        known = _still(self._folders, folder, stamp)
        if known is not None:
            return known
        names: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        names.append(entry.path)
                    elif entry.name != "__pycache__":
                        folders.append(entry.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return [], []
        _remember(self._folders, folder, stamp, (names, folders))
        return names, folders


def _regular(names: list[str]) -> Iterator[str]:
    for path in names:
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116 - some six hundred of them, each minute
        except OSError:
            continue
        if stat.S_ISREG(mode):
            yield path


def _stamp(path: str) -> _Stamp | None:
    """None where nothing is, or where a second change would look like the first."""
    now = _clock.now()
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return None
    if now - found.st_ctime_ns // 1_000_000 < SETTLED_MS:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _still[T](seen: dict[str, _Seen[T]], path: str, stamp: _Stamp | None) -> T | None:
    known = seen.get(path)
    if stamp is None or known is None or known.stamp != stamp or time.monotonic() > known.until:
        return None
    return known.found


def _remember[T](seen: dict[str, _Seen[T]], path: str, stamp: _Stamp | None, found: T) -> None:
    if stamp is None:
        seen.pop(path, None)
    else:
        seen[path] = _Seen(stamp, found, time.monotonic() + ANEW_S)


files = Unread()
"""Of this process: whoever looks at the same file shares what is known of it."""
