"""A journal that this process does not own: read beside its owner or after it, without a lock and without a trace.

A journal that was closed is read as a file that nobody writes, and what was read counts only if that was true until
the end. Else its write-ahead log is read as it stands. Whatever edition wrote it: a query that its tables cannot
answer says so.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..errors import JournalError, JournalForeign, JournalNewer, StoreLost
from . import migrate, ownership
from .base import Reader
from .bodies import Bodies
from .connections import BUSY_MS, Queries, as_row, translated
from .files import APPLICATION_ID, Files

T = TypeVar("T")

_TRIES = 4
_QUIET = "mode=ro&immutable=1"
_BESIDE = "mode=ro&readonly_shm=1"
_LOCKING = "mode=ro"
_ALONE = "mode=rw"


class Looker:
    """Reads one journal. Raises Corrupt or Unavailable where that is not possible."""

    def __init__(self, folder: Path) -> None:
        self._files = Files(folder)
        self._bodies = Bodies(folder)
        self.schema: int = self._read(_schema)

    @property
    def is_newer(self) -> bool:
        """A later version wrote it: some of its tables may be unknown here."""
        return self.schema > migrate.newest()

    @property
    def is_current(self) -> bool:
        """Every table is as this version knows it."""
        return self.schema == migrate.newest()

    @property
    def is_owned(self) -> bool | None:
        """Whether a server has it open; None where the kernel does not say."""
        return ownership.is_owned(self._files.lock)

    def read(self, operation: Callable[[Reader], T]) -> T:
        """Run named queries on one consistent state."""
        return self._read(lambda connection: operation(Queries(connection, self._bodies.read)))

    def pragma(self, name: str) -> list[dict[str, Any]]:
        """Rows of a check that SQLite makes itself."""
        return self._read(lambda connection: connection.execute(f"PRAGMA {name}").fetchall())

    def _read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        for attempt in range(_TRIES):
            before = self._signature()
            way = self._way(attempt)
            try:
                answer = self._once(way, operation)
            except (sqlite3.Error, JournalError, UnicodeDecodeError) as error:
                if self._signature() == before:
                    raise self._said(error) from error
                continue
            if way is not _QUIET or self._signature() == before:
                return answer
        raise StoreLost("It is being changed at this moment.")

    def _way(self, attempt: int) -> str:
        if self._files.wal.exists():
            return _BESIDE if self._files.shm.exists() else _ALONE
        if self._files.is_unmerged() or attempt > 1:
            return _LOCKING
        return _QUIET

    def _once(self, way: str, operation: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connect(way)
        try:
            found = connection.execute("PRAGMA application_id").fetchone()["application_id"]
            if found != APPLICATION_ID:
                raise JournalForeign(str(self._files.journal), "It is a database of something else.")
            connection.execute("BEGIN")
            return operation(connection)
        except sqlite3.OperationalError as error:
            if way is _LOCKING and error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                return self._once(_ALONE, operation)  # cut off in the middle of a write: SQLite must undo that half before it reads
            raise
        finally:
            connection.close()

    def _connect(self, way: str) -> sqlite3.Connection:
        if not self._files.exists():
            raise StoreLost(f"There is no journal in {self._files.folder}.")
        if not stat.S_ISREG(self._files.journal.lstat().st_mode):  # opening a pipe would wait for ever
            raise JournalForeign(str(self._files.journal), "It is not a regular file.")
        connection = sqlite3.connect(f"{self._files.journal.absolute().as_uri()}?{way}", uri=True, isolation_level=None)
        connection.row_factory = as_row
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE)
        if way is _ALONE:
            connection.execute("PRAGMA locking_mode = exclusive")  # keeps the index of the log in memory: no file beside it
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS:d}")
        connection.execute("PRAGMA query_only = on")
        return connection

    def _signature(self) -> tuple[object, ...]:
        def of(path: Path) -> tuple[int, ...] | None:
            try:
                now = path.lstat()
            except OSError:
                return None
            return now.st_ino, now.st_size, now.st_mtime_ns

        # of a log only its existence: beside an owner it may grow while it is read
        return of(self._files.journal), self._files.wal.exists(), of(self._files.rollback)

    def _said(self, error: Exception) -> JournalError:
        if isinstance(error, JournalError):
            return error
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, UnicodeDecodeError) or code == sqlite3.SQLITE_NOTADB:
            return JournalForeign(str(self._files.journal), "It is not a database.")
        if code == sqlite3.SQLITE_ERROR and self.schema > migrate.newest():
            return JournalNewer(found=self.schema, known=migrate.newest())
        if code == sqlite3.SQLITE_ERROR and self.schema < migrate.newest():
            return StoreLost(f"Its schema is {self.schema}. Start the server once with this version: that brings it up to date.")
        return translated(error) if isinstance(error, sqlite3.Error) else StoreLost(f"{error}.")


def _schema(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()["user_version"]
    return version
