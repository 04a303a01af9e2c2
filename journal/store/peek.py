"""A look at a journal that this process does not own: read only, no lock, whatever edition wrote it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ..errors import JournalForeign, StoreLost
from .base import Row
from .connections import BUSY_MS, Queries, as_row, translated
from .files import APPLICATION_ID, Files


def peek(folder: Path, query: str) -> list[Row]:
    """Rows of one query; none where there is no journal. Raises Corrupt or Unavailable when it cannot be read."""
    files = Files(folder)
    try:
        if not files.exists():
            return []
        connection = sqlite3.connect(f"{files.journal.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise translated(error) from error
    except OSError as error:
        raise StoreLost(f"{files.journal}: {error.strerror}.") from error
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS:d}")
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        if found != APPLICATION_ID:
            raise JournalForeign(str(files.journal), "It is a database of something else.")
        connection.row_factory = as_row
        return Queries(connection).all(query)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise JournalForeign(str(files.journal), "It is not a database.") from error
        raise translated(error) from error
    finally:
        connection.close()
