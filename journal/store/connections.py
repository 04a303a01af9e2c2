"""SQLite connections: how they are set up, named queries over them, errors in our words, a pool of readers."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import codec
from ..errors import (
    Conflict,
    JournalDamaged,
    JournalError,
    StoreClosed,
    StoreFull,
    StoreLocked,
    StoreLost,
    TooLarge,
)
from . import queries
from .base import Row
from .bodies import STUB
from .filesystems import Mode

BUSY_MS = 250
SQLITE = sqlite3.sqlite_version_info
_ROLLBACK_BUSY_MS = 2000  # without WAL a commit waits for readers and they for it, a few milliseconds each
_PAUSE_SECONDS = 2.0


def connect(path: Path, *, writes: bool, mode: Mode = Mode.WAL, alone: bool = False) -> sqlite3.Connection:
    """Open an existing file; a connection for reading cannot write, whatever it is asked. `alone` shares no memory."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        _set_up(connection, writes=writes, mode=mode, alone=alone)
    except BaseException as error:
        connection.close()
        if isinstance(error, UnicodeDecodeError):  # SQLite quotes a damaged schema in its message
            raise JournalDamaged("Its schema cannot be read.") from error
        raise
    return connection


def _set_up(connection: sqlite3.Connection, *, writes: bool, mode: Mode, alone: bool) -> None:
    connection.row_factory = as_row
    # Closing merges nothing: after an error the file stays as it is. `finish` is the clean end.
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE)
    for pragma in (
        f"locking_mode = {'exclusive' if alone else 'normal'}",  # before anything is read
        f"busy_timeout = {BUSY_MS if mode is Mode.WAL else _ROLLBACK_BUSY_MS:d}",
        "foreign_keys = on",
        f"synchronous = {'full' if mode is Mode.WAL else 'extra'}",
        "secure_delete = on",
        "trusted_schema = off",
        "temp_store = memory",
        "wal_autocheckpoint = 0",
        "journal_size_limit = 8388608",
        f"query_only = {'off' if writes else 'on'}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def finish(connection: sqlite3.Connection) -> None:
    """Close for good, with everything merged into the one file."""
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, False)
    connection.close()


def as_row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description or (), values, strict=True)}


def translated(error: sqlite3.Error) -> JournalError:
    """An error of SQLite in the journal's words. The original stays its cause."""
    code = getattr(error, "sqlite_errorcode", None)
    match code if code is None else code & 0xFF:
        case None if "decode to UTF-8" in str(error):  # Python's own complaint about a stored text
            return JournalDamaged("A text in it is not what was written.")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreLocked()
        case sqlite3.SQLITE_FULL:
            return StoreFull()
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return JournalDamaged()
        case sqlite3.SQLITE_CONSTRAINT:
            return Conflict(f"A rule of the store refused it ({error}).")
        case sqlite3.SQLITE_TOOBIG:
            return TooLarge("value", limit=1_000_000_000)
    return StoreLost(f"{error}.")


def refused(error: sqlite3.Error) -> Exception | None:
    """What one operation fails with if only its statement was refused; None if the connection is in doubt."""
    code = getattr(error, "sqlite_errorcode", None)
    match code if code is None else code & 0xFF:
        case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_TOOBIG:
            return translated(error)
        case None | sqlite3.SQLITE_ERROR | sqlite3.SQLITE_MISMATCH:
            return error
    return None


_Columns = tuple[list[str], list[str]]
"""The names of a query's columns, and which of them hold bodies: `body`, and all that end with it."""


class Queries:
    """Named queries over one connection: the Reader of SQLite."""

    def __init__(self, connection: sqlite3.Connection, body_of: Callable[[bytes], bytes | None] = bytes) -> None:
        """`body_of` gives the body for a stub that stands in its place."""
        self._connection = connection
        self._named = queries.load("sqlite")
        self._body_of = body_of
        self._columns: dict[str, _Columns] = {}

    def one(self, query: str, **values: Any) -> Row | None:
        cursor = self._run(query, values)
        cursor.row_factory = None
        found = cursor.fetchone()
        return None if found is None else self._row(self._columns_of(query, cursor), found)

    def all(self, query: str, **values: Any) -> list[Row]:
        cursor = self._run(query, values)
        cursor.row_factory = None
        found = cursor.fetchall()
        if not found:
            return []
        columns = self._columns_of(query, cursor)
        return [self._row(columns, each) for each in found]

    def _columns_of(self, query: str, cursor: sqlite3.Cursor) -> _Columns:
        known = self._columns.get(query)
        if known is None:
            names = [column[0] for column in cursor.description or ()]  # a pragma may answer rows without a column
            known = self._columns[query] = names, [name for name in names if name.endswith("body")]
        return known

    def _row(self, columns: _Columns, values: tuple[Any, ...]) -> Row:
        names, bodies = columns
        row = dict(zip(names, values, strict=False))  # of the same cursor
        for name in bodies:
            value = row[name]
            if type(value) is bytes and value.startswith(STUB):
                row[name] = self._body_of(value)
        return row

    def _run(self, query: str, values: dict[str, Any]) -> sqlite3.Cursor:
        try:
            return self._connection.execute(self._named[query], values)
        except UnicodeEncodeError:
            # SQLite takes no lone surrogates in a text; they are written out.
            return self._connection.execute(self._named[query], {name: _writable(value) for name, value in values.items()})


class Changes(Queries):
    """The Transaction of SQLite. `last` is the last place that was given, committed or not."""

    def __init__(self, connection: sqlite3.Connection, last: int, body_of: Callable[[bytes], bytes | None] = bytes) -> None:
        super().__init__(connection, body_of)
        self.last = last

    def change(self, query: str, **values: Any) -> int:
        return self._run(query, values).rowcount

    def change_each(self, query: str, rows: Iterable[Mapping[str, Any]]) -> int:
        return self._connection.executemany(self._named[query], rows).rowcount

    def place(self) -> int:
        self.last += 1
        return self.last


def _writable(value: Any) -> Any:
    return codec.spelled_out(value) if isinstance(value, str) else value


class ReadPool:
    """Connections for reading, one caller each at a time."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], body_of: Callable[[bytes], bytes | None]) -> None:
        self._connect = connect
        self._body_of = body_of
        self._change = threading.Condition()
        self._idle: list[sqlite3.Connection] = []
        self._busy = 0
        self._paused = False
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Queries]:
        """One consistent state; whatever happens, nothing was written."""
        connection = self._take()
        sound = False
        try:
            connection.execute("BEGIN")
            yield Queries(connection, self._body_of)
            connection.execute("ROLLBACK")
            sound = True
        finally:
            self._give_back(connection, sound)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No reader holds the file open inside, so that it is read afresh afterwards."""
        with self._change:
            self._paused = True
            self._change.wait_for(lambda: not self._busy, _PAUSE_SECONDS)
            self._drop_idle()
        try:
            yield
        finally:
            with self._change:
                self._paused = False
                self._change.notify_all()

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._drop_idle()
            self._change.notify_all()

    def _take(self) -> sqlite3.Connection:
        with self._change:
            self._change.wait_for(lambda: not self._paused or self._closed, _PAUSE_SECONDS)
            if self._closed:
                raise StoreClosed
            self._busy += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except BaseException:
            self._leave()
            raise

    def _give_back(self, connection: sqlite3.Connection, sound: bool) -> None:
        with self._change:
            keep = sound and not self._closed and not self._paused
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()
        self._leave()

    def _leave(self) -> None:
        with self._change:
            self._busy -= 1
            self._change.notify_all()

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()
