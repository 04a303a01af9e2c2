"""Space that is kept for results: given up when the disk is full, taken back when there is room again.

While it is given up nothing new may begin, and what runs can still save how it ended.
"""

from __future__ import annotations

import os
from pathlib import Path

NAME = "journal.reserve"
SIZE = 2 * 1024 * 1024
_SPARE = SIZE
"""So much must be free beside the reserve before it is taken: else taking it would fill the disk again."""


class Reserve:
    """One preallocated file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_held = False

    def take(self) -> bool:
        """Keep the space, if there is room. Answers whether it is held now."""
        if self.is_held:
            return True
        if not self._path.exists() and not self._has_space():
            return False
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return False
        try:
            if os.fstat(file).st_blocks * 512 < SIZE:
                os.posix_fallocate(file, 0, SIZE)
            self.is_held = True
        except OSError:
            self._remove()
        finally:
            os.close(file)
        return self.is_held

    def give_up(self) -> bool:
        """Let the space go for what must be written now. Answers whether there was any."""
        if not self.is_held:
            return False
        self.is_held = False
        return self._remove()

    def _has_space(self) -> bool:
        try:
            free = os.statvfs(self._path.parent)
        except OSError:
            return False
        return free.f_bavail * free.f_frsize >= SIZE + _SPARE

    def _remove(self) -> bool:
        try:
            self._path.unlink()
        except OSError:
            return False
        return True
