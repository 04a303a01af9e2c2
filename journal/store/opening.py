"""How a journal comes to be open: made whole beside its place, checked before it is trusted, then migrated.

Nothing is changed before everything was checked, and nothing is repaired. The checks are bounded: whatever the size
of the journal, they do not delay a start; `verify` is the one that reads everything.
"""

from __future__ import annotations

import sqlite3

from ..errors import JournalDamaged, StoreLost
from . import migrate, switching
from .connections import Queries, connect, finish
from .files import APPLICATION_ID, Files
from .filesystems import Mode

MOST_WHOLE = 16 * 1024 * 1024
"""Up to this size a journal is checked whole after an unclean end: some hundredths of a second."""

_SETTLE_MS = 2000


def prepare(files: Files, now: int) -> bool:
    """Finish a restore that was cut off; make the journal if there is none; check it; bring its schema up to date.

    Answers whether it was made.
    """
    switching.finish(files.folder)
    made = not files.exists()
    if made:
        _build(files, now)
    files.check_ours()
    files.make_private()
    unclean, mode = files.is_unmerged(), files.place.mode
    settle_log(files)
    connection = connect(files.journal, writes=True, mode=mode, alone=mode is not Mode.WAL)
    try:
        migrate.applied(connection)
        for check in _checks(files, unclean):
            found = connection.execute(f"PRAGMA {check}").fetchone()["quick_check"]
            if found != "ok":
                raise JournalDamaged(f"{found}.")
        migrate.migrate(connection, now)
        if mode is not Mode.WAL:
            _set_mode(connection, mode)  # alone, so that a write-ahead log is merged without memory that is shared through a file
    finally:
        connection.close()
    return made


def settle_log(files: Files) -> None:
    """Make sure of what stands in the log, before it is believed.

    After a sync that failed, the system takes the pages for written: they are read back, no later sync writes them,
    and a power cut loses them with everything behind them. So they are written once more.
    """
    files.check_same()
    if not files.has_log():
        return
    mode = files.place.mode
    connection = connect(files.journal, writes=True, mode=mode, alone=mode is not Mode.WAL)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_SETTLE_MS:d}")
        connection.execute("BEGIN IMMEDIATE")
        try:
            files.write_log_again()
        finally:
            connection.execute("ROLLBACK")
    finally:
        connection.close()


def open_writer(files: Files) -> tuple[sqlite3.Connection, int, int]:
    """The connection that writes, the number of the last batch that was committed, and the last place it gave."""
    files.check_same()
    connection = connect(files.journal, writes=True, mode=files.place.mode)
    try:
        _set_mode(connection, files.place.mode)
        row = Queries(connection).one("batch_number")
        if row is None:
            raise JournalDamaged("The mark of the last commit is gone.")
        files.sync_names()
    except BaseException:
        connection.close()
        raise
    files.remember()
    return connection, row["number"], row["place"]


def _checks(files: Files, unclean: bool) -> tuple[str, ...]:
    """After a clean end a small table is enough; of a large journal what is read is verified when it is read."""
    is_large = files.journal.stat().st_size > MOST_WHOLE
    if not unclean:
        return () if is_large else ("quick_check('runs')",)
    return ("quick_check('runs')", "quick_check('calls')") if is_large else ("quick_check",)


def _set_mode(connection: sqlite3.Connection, mode: Mode) -> None:
    found = connection.execute(f"PRAGMA journal_mode = {mode.value}").fetchone()["journal_mode"]
    if found != mode.value:
        raise StoreLost(f"SQLite keeps its journal in mode {found} here.")


def _build(files: Files, now: int) -> None:
    """Make a whole new journal beside its place, then give it its name: there is no half-made journal."""
    try:
        connection = connect(files.begin_fresh(), writes=True, alone=True)
        try:
            connection.execute("PRAGMA synchronous = off")  # nobody sees the file before it is synced as a whole
            connection.execute("PRAGMA auto_vacuum = incremental")  # before the first table, or never
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            migrate.migrate(connection, now)
            _set_mode(connection, files.place.mode)
        finally:
            finish(connection)
        files.finish_fresh()
    except OSError as error:
        raise StoreLost(f"A new journal could not be made: {error.strerror}.") from error
