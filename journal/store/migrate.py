"""Brings a journal to the schema of this version: forward only, each step whole or not at all.

A released step is frozen: its SHA-256 stands in `frozen.sha256` and is recorded with the journal. A journal that
is newer than this code is refused, never guessed at.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ..digests import of_file
from ..errors import JournalNewer, RecordCorrupt
from .queries import SQL, migration_files

DIALECT = "sqlite"


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str
    digest: str


@cache
def known() -> tuple[Migration, ...]:
    """The released steps, in order. A step that is not the released one is refused."""
    lines = (SQL / DIALECT / "frozen.sha256").read_text(encoding="utf-8").splitlines()
    frozen = {name: digest for digest, name in (line.split() for line in lines)}
    steps = []
    for number, path in enumerate(migration_files(DIALECT), 1):
        digest = of_file(path)
        if frozen.get(path.name) != digest or int(path.name[:4]) != number:
            raise RecordCorrupt(f"The schema step {path.name} is not the released one.")
        steps.append(Migration(number, path.name, path.read_text(encoding="utf-8"), digest))
    return tuple(steps)


def newest() -> int:
    return known()[-1].version


def applied(connection: sqlite3.Connection) -> int:
    """The schema version of a journal; 0 for an empty file. Reads only."""
    version: int = connection.execute("PRAGMA user_version").fetchone()["user_version"]
    if version > newest():
        raise JournalNewer(found=version, known=newest())
    return version


def migrate(connection: sqlite3.Connection, now: int) -> None:
    """Apply what is pending, on a connection of ours. A step and the record that it ran commit together."""
    before = applied(connection)
    if before:
        _check_history(connection, before)
    for step in known()[before:]:
        # A table that others point at can only be made anew while references are not looked at; they are before the commit.
        connection.execute("PRAGMA foreign_keys = off")
        connection.create_function("sha256", 1, _sha256, deterministic=True)
        try:
            # What was broken before is told where it is read, of its own chat: it is no reason to refuse all others.
            if not _took(connection, step, now, dangling=0) and not _took(connection, step, now, dangling=_dangling(connection)):
                raise RecordCorrupt(f"The schema step {step.name} does not fit what is stored.")
        finally:
            connection.create_function("sha256", 1, None)
            connection.execute("PRAGMA foreign_keys = on")


def _took(connection: sqlite3.Connection, step: Migration, now: int, *, dangling: int) -> bool:
    """Whether the step is done; else nothing is. It may leave as many references that lead nowhere as there were, and no more."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements(step.sql):
            connection.execute(statement)
        if _dangling(connection) > dangling:
            connection.rollback()
            return False
        connection.execute("INSERT INTO schema_versions VALUES (?, ?, ?)", (step.version, step.digest, now))
        connection.execute(f"PRAGMA user_version = {step.version:d}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return True


def _dangling(connection: sqlite3.Connection) -> int:
    return sum(1 for _ in connection.execute("PRAGMA foreign_key_check"))


def _sha256(data: bytes) -> str:
    """For a step that has to tell what was written from what was damaged since."""
    return hashlib.sha256(data).hexdigest()


def statements(script: str) -> Iterator[str]:
    """Cut a script where SQLite says that a statement is complete."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _check_history(connection: sqlite3.Connection, before: int) -> None:
    rows = connection.execute("SELECT version, digest FROM schema_versions ORDER BY version").fetchall()
    if [(row["version"], row["digest"]) for row in rows] != [(step.version, step.digest) for step in known()[:before]]:
        raise RecordCorrupt("The journal's schema was not made by the released steps.")
