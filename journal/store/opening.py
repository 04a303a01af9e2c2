"""How a journal comes to be open: made whole beside its place, checked before it is trusted, then migrated.

Nothing is changed before everything was checked, and nothing is repaired.
"""

from __future__ import annotations

import sqlite3

from ..errors import JournalDamaged, StoreLost
from . import migrate
from .connections import Queries, connect, finish
from .files import APPLICATION_ID, Files


def prepare(files: Files, now: int) -> None:
    """Make the journal if there is none; check it; bring its schema up to date."""
    if not files.exists():
        _build(files, now)
    files.check_ours()
    files.make_private()
    unclean = files.wal.exists() and files.wal.stat().st_size > 0
    connection = connect(files.journal, writes=True)
    try:
        migrate.applied(connection)
        # After a clean end the small table is enough; a full check would delay every start.
        for table in ("runs", "calls") if unclean else ("runs",):
            found = connection.execute(f"PRAGMA quick_check('{table}')").fetchone()["quick_check"]
            if found != "ok":
                raise JournalDamaged(f"{found}.")
        migrate.migrate(connection, now)
    finally:
        connection.close()


def open_writer(files: Files) -> tuple[sqlite3.Connection, int]:
    """The connection that writes, and the number of the last batch that was committed."""
    files.check_same()
    connection = connect(files.journal, writes=True)
    try:
        mode = connection.execute("PRAGMA journal_mode = wal").fetchone()["journal_mode"]
        if mode != "wal":
            raise StoreLost(f"SQLite keeps its journal in mode {mode} here.")
        row = Queries(connection).one("batch_number")
        if row is None:
            raise JournalDamaged("The mark of the last commit is gone.")
    except BaseException:
        connection.close()
        raise
    files.remember()
    return connection, row["number"]


def _build(files: Files, now: int) -> None:
    """Make a whole new journal beside its place, then give it its name: there is no half-made journal."""
    try:
        connection = connect(files.begin_fresh(), writes=True)
        try:
            connection.execute("PRAGMA synchronous = off")  # nobody sees the file before it is synced as a whole
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            migrate.migrate(connection, now)
            connection.execute("PRAGMA journal_mode = wal")
        finally:
            finish(connection)
        files.finish_fresh()
    except OSError as error:
        raise StoreLost(f"A new journal could not be made: {error.strerror}.") from error
