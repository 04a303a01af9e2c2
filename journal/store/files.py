"""The journal's folder: what lies where, who may read it, and whether it is still the same file.

Nothing here opens the journal except SQLite itself: closing any other descriptor of it would drop SQLite's own
locks (on the log there are none). A file that is not ours is looked at without locks or side files, and never touched.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

from ..errors import JournalForeign, JournalNewer, StoreLost
from . import heads, migrate, reserve
from .bodies import sync
from .filesystems import place_of

APPLICATION_ID = 0x44455831  # "DEX1"
NAME = "journal.db"
_PART = 1024 * 1024


class Files:
    """The folder of one journal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = place_of(folder)
        self.journal = folder / NAME
        self.fresh = folder / f"{NAME}.new"
        self.wal = folder / f"{NAME}-wal"
        self.shm = folder / f"{NAME}-shm"
        self.rollback = folder / f"{NAME}-journal"
        self.lock = folder / "journal.lock"
        self.head = folder / heads.NAME
        self.reserve = folder / reserve.NAME
        self._seen: dict[str, tuple[int, int] | None] = {}

    def make_folder(self) -> None:
        """The folder is the owner's alone, and sure to stay. Raises UnsafeFileSystem before anything is made."""
        self.place.check()
        try:
            fresh = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            for folder in fresh:
                sync(folder.parent)
        except OSError as error:
            raise StoreLost(f"{self.folder}: {error.strerror}.") from error

    def make_private(self) -> None:
        """So are the files in it; SQLite gives new side files the mode of the journal."""
        for path in (self.journal, self.wal, self.shm):
            if path.exists():
                path.chmod(0o600)

    def exists(self) -> bool:
        """Whether there is a journal. Raises if only its unmerged part is left: that is a loss, not a beginning."""
        if os.path.lexists(self.journal):
            return True
        if self.is_unmerged():
            raise StoreLost(f"{self.journal} is gone; a part of it is left beside its place.")
        return False

    def is_unmerged(self) -> bool:
        """Something beside the journal has not found its way into it, or out of it: it was not closed."""
        return any(path.exists() and path.stat().st_size for path in (self.wal, self.rollback))

    def check_ours(self) -> None:
        """Raise JournalForeign or JournalNewer unless this version may open the file."""
        kind = self.journal.lstat()
        if not stat.S_ISREG(kind.st_mode) or kind.st_size == 0:
            raise JournalForeign(str(self.journal), "It is empty or not a regular file.")
        found, version = self._peek()
        if found != APPLICATION_ID:
            raise JournalForeign(str(self.journal), "It is a database of something else.")
        if version > migrate.newest():
            raise JournalNewer(found=version, known=migrate.newest())

    def _peek(self) -> tuple[int, int]:
        # `immutable` makes no side files and takes no locks.
        connection = sqlite3.connect(f"{self.journal.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            # A merge that was cut off leaves a file that is whole only with its log; its first page names it all the same.
            connection.execute("PRAGMA writable_schema = on")
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            return application, connection.execute("PRAGMA user_version").fetchone()[0]
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes a damaged schema in its message
            raise JournalForeign(str(self.journal), "It is not a database.") from error
        finally:
            connection.close()

    def begin_fresh(self) -> Path:
        """A private empty file to build a new journal in; it takes the journal's name when it is whole."""
        for leftover in self.folder.glob(f"{self.fresh.name}*"):
            leftover.unlink()
        os.close(os.open(self.fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        return self.fresh

    def finish_fresh(self) -> None:
        sync(self.fresh)
        self.fresh.rename(self.journal)
        sync(self.folder)

    def has_log(self) -> bool:
        """Whether there is a write-ahead log with anything in it."""
        return self.wal.exists() and self.wal.stat().st_size > 0

    def write_log_again(self) -> None:
        """Write the log's bytes over themselves and sync them. Nobody may append meanwhile."""
        log = os.open(self.wal, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            at = 0
            while part := os.pread(log, _PART, at):
                at += os.pwrite(log, part, at)
            os.fsync(log)
        finally:
            os.close(log)

    def sync_names(self) -> None:
        """Make sure that what lies here is found again. SQLite does it for a log that it made, after its first sync only."""
        sync(self.folder)

    def remember(self) -> None:
        """Note which files these are, once SQLite has them open; what is noted already must not change."""
        for path in (self.journal, self.wal, self.lock):
            self._seen.setdefault(str(path), _identity(str(path)))

    def check_same(self) -> None:
        """Raise StoreLost if a file was removed or replaced under the open journal."""
        for path, before in self._seen.items():
            if _identity(path) != before:
                raise StoreLost(f"{Path(path).name} was removed or replaced while the journal was open.")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        now = os.lstat(path)  # twice as fast as a Path, and in the way of every commit
    except FileNotFoundError:
        return None
    return now.st_dev, now.st_ino
