"""One consistent copy of a journal's database beside a running writer, and the look whether such a copy is whole.

A copy is one file without side files. Nothing here knows where copies lie or what for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..digests import of_file
from ..errors import BackupDamaged
from . import bodies, migrate
from .bodies import STUB
from .connections import as_row, translated
from .files import APPLICATION_ID

_PAGES = 512
_LOOKED_AT_ONCE = 1000


@dataclass(slots=True)
class Contents:
    """What a copy holds. `files` are the bodies beside it that its records name, with their sizes."""

    journal_id: str = ""
    schema: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        with bodies.in_our_words():
            yield
    except sqlite3.Error as error:
        raise translated(error) from error


def copy_database(source: Path, target: Path, step: Callable[[], None]) -> None:
    """Copy what is committed at one moment, a few pages at a time; `step` is called between and may raise to stop."""
    with _in_our_words():
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        with closing(_reading(source, "mode=ro")) as here, closing(sqlite3.connect(target, isolation_level=None)) as there:
            if here.execute("PRAGMA journal_mode").fetchone()["journal_mode"] == "wal":
                # One state is held while it is copied: else each commit of the writer would make the copy begin again.
                # Without a log that would keep the writer waiting instead, so there it may begin again.
                here.execute("BEGIN")
                here.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            here.backup(there, pages=_PAGES, progress=lambda status, left, total: step())
            here.rollback()
            there.execute("PRAGMA journal_mode = delete")
        bodies.sync(target)


def contents(database: Path) -> Contents:
    """What a copy holds, looked up in it. Nothing is verified."""
    with _in_our_words(), closing(_reading_copy(database)) as connection:
        found = Contents(schema=_number(connection, "PRAGMA user_version"))
        found.journal_id = connection.execute("SELECT min(boot_id) AS first FROM boots").fetchone()["first"] or ""
        for table in ("chats", "runs", "calls", "checkpoints", *_tables_of_bodies(connection)):
            found.counts[table] = _number(connection, f"SELECT count(*) FROM {table}")
        for table in _tables_of_bodies(connection):
            for row in connection.execute(f"SELECT digest, body FROM {table} WHERE substr(body, 1, 6) = ?", (STUB,)):
                found.files[row["digest"]] = int(row["body"].rpartition(b":")[2])
        return found


def damaged_bodies(database: Path, step: Callable[[], None]) -> set[str]:
    """Digests of bodies in a copy that are not what was written.

    Raises BackupDamaged if the database itself is not sound, JournalNewer if it is of a later edition.
    """
    where = str(database.parent)
    try:
        with closing(_reading_copy(database)) as connection:
            if _number(connection, "PRAGMA application_id") != APPLICATION_ID:
                raise BackupDamaged(where, "It is a database of something else.")
            migrate.applied(connection)
            found = connection.execute("PRAGMA quick_check(1)").fetchone()["quick_check"]
            if found != "ok":
                raise BackupDamaged(where, f"{found}.")
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise BackupDamaged(where, "A record names another one that is not there.")
            return {digest for query in _bodies(connection) for digest in _damaged_in(connection, query, step)}
    except sqlite3.DatabaseError as error:
        raise BackupDamaged(where, f"{error}.") from error


def _bodies(connection: sqlite3.Connection) -> Iterator[str]:
    """Queries for all that is stored under its digest."""
    yield from (f"SELECT digest, body FROM {table}" for table in _tables_of_bodies(connection))
    if any(column["name"] == "body" for column in connection.execute("PRAGMA table_info(checkpoints)")):  # not in older editions
        yield "SELECT root AS digest, body FROM checkpoints WHERE body IS NOT NULL"


def _tables_of_bodies(connection: sqlite3.Connection) -> list[str]:
    """In older editions the parts of saved states lie in a table of their own."""
    return [table for table in ("blobs", "nodes") if connection.execute(f"PRAGMA table_info({table})").fetchone()]


def _damaged_in(connection: sqlite3.Connection, query: str, step: Callable[[], None]) -> Iterator[str]:
    for number, row in enumerate(connection.execute(query)):
        if number % _LOOKED_AT_ONCE == 0:
            step()
        if not row["body"].startswith(STUB) and hashlib.sha256(row["body"]).hexdigest() != row["digest"]:
            yield row["digest"]


def copy_file(source: Path, target: Path) -> None:
    """A private copy, durable when its folder is. One that is missing or cannot be read stays missing."""
    with bodies.in_our_words():
        _make_places(target)
        try:
            file = source.open("rb")
        except OSError:
            return
        with file, target.open("xb") as copy:
            target.chmod(0o600)
            shutil.copyfileobj(file, copy, 1024 * 1024)
            copy.flush()
            os.fsync(copy.fileno())


def link_file(source: Path, target: Path) -> bool:
    """The same file under another name, where that can be had."""
    with bodies.in_our_words():
        _make_places(target)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        return False
    return True


def _make_places(target: Path) -> None:
    target.parent.parent.mkdir(mode=0o700, exist_ok=True)
    target.parent.mkdir(mode=0o700, exist_ok=True)


def is_sound(file: Path) -> bool:
    """Whether a body beside a copy is what its name says."""
    try:
        return of_file(file) == file.name
    except OSError:
        return False


def _reading_copy(path: Path) -> sqlite3.Connection:
    # `immutable` makes no side files and takes no locks: nobody writes a copy.
    return _reading(path, "mode=ro&immutable=1")


def _reading(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, isolation_level=None)
    connection.row_factory = as_row
    return connection


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(next(iter(connection.execute(query).fetchone().values())))
