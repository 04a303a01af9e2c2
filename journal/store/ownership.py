"""Who owns a journal: an advisory lock on a side file, and nothing else.

The lock is close-on-exec and closed in forked children, so that no child keeps a dead owner's journal locked.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from ..errors import StoreLocked, StoreLost

_held: weakref.WeakSet[OwnerLock] = weakref.WeakSet()


class OwnerLock:
    """Taken at construction, or StoreLocked is raised at once; there is no waiting."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = self._take()
        _held.add(self)

    def _take(self) -> int:
        while True:
            try:
                file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise StoreLost(f"The lock file cannot be opened: {error.strerror}.") from error
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_file_at(file, self.path):
                    return file
            except BlockingIOError as error:
                os.close(file)
                raise StoreLocked from error
            except OSError as error:
                os.close(file)
                raise StoreLost(f"This file system cannot lock: {error.strerror}.") from error
            os.close(file)  # somebody removed the file between opening and locking: take the new one

    def release(self) -> None:
        """Give the lock up, also where a child that is just being started still has a copy of the descriptor."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Close this process's copy; the lock stays with whoever has another one."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def is_owned(path: Path, locks: Path = Path("/proc/locks")) -> bool | None:
    """Whether somebody holds the lock, without trying it: a try could meet an owner that is just starting."""
    try:
        inode = path.stat().st_ino
    except OSError:
        return False
    try:
        held = locks.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return any(fields[1:4:2] == ["FLOCK", "WRITE"] and fields[5].endswith(f":{inode}") for line in held if len(fields := line.split()) > 5)


def _is_file_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _let_go_in_child() -> None:
    for lock in list(_held):
        lock.forget()


os.register_at_fork(after_in_child=_let_go_in_child)
