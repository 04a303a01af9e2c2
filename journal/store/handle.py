"""The one connection that writes: it is always at the batch that this process left it at, or it is not used.

Each batch carries a number of its own. A file that stands at another number was put back under us, and ends the store.
After an error of COMMIT the file is opened afresh, its log made sure of, and asked. It knows nothing of jobs and futures.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass

from ..errors import JournalError, StoreLocked, StoreLost
from .bodies import Bodies
from .connections import Changes, translated
from .files import Files
from .opening import open_writer, settle_log
from .witness import PUT_BACK, Witness

_LOCK_ATTEMPTS = 8
_LOOKS = 8
_LOOK_SECONDS = 0.25


@dataclass(slots=True)
class Standing:
    """How the store stands: `ended` for good, or in some trouble that may pass."""

    ended: JournalError | None = None
    problem: str | None = None


class Handle:
    """Used by the writer's thread, and while the store is opened and closed."""

    def __init__(self, files: Files, bodies: Bodies, witness: Witness, standing: Standing, closing: threading.Event) -> None:
        self.connection: sqlite3.Connection | None = None
        self.number: int | None = None
        self.attempted = 0
        """The number of the batch that is, or was last, written."""
        self.touched = False
        """Whether another program committed something while the file was open here."""
        self.doubt = False
        """Something may stand in the log that was never made sure of."""
        self._files, self._bodies, self._witness = files, bodies, witness
        self._standing, self._closing = standing, closing
        self._place = 0
        self._has_written = False
        self._version: int | None = None

    # -- open and closed ------------------------------------------------------------------------

    def open(self) -> sqlite3.Connection:
        if self.doubt:
            settle_log(self._files)
            self.doubt = False
        connection, number, place = open_writer(self._files)
        if self.number is not None and number not in (self.number, self.attempted):
            connection.close()
            raise self._put_back()
        self.connection, self.number, self._place = connection, number, place
        self._version = None
        return connection

    def let_go(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()

    def is_at(self, number: int) -> bool:
        """Whether a batch that was attempted stands in the file; False too where nobody can look."""
        try:
            self.open()
        except (sqlite3.Error, JournalError, OSError) as error:
            self._standing.problem = str(error)
            return False
        return self.number == number

    def _put_back(self) -> StoreLost:
        self._standing.ended = lost = StoreLost(PUT_BACK)
        return lost

    # -- one transaction ------------------------------------------------------------------------

    def begin(self) -> Changes:
        """A transaction; an opening's first one begins with what the opening says about itself."""
        connection = self._begun()
        assert self.number is not None
        self.attempted = self.number + 1
        transaction = Changes(connection, self._place, self._bodies.read)
        if not self._has_written:
            transaction.change("add_opening", opening=self._witness.opening, first_batch=self.attempted)
            transaction.change("name_journal", opening=self._witness.opening)
        return transaction

    def mark(self, transaction: Changes, before: int, number: int) -> int:
        """Number the batch; answers the generation in which it is written."""
        row = transaction.one("mark_batch", before=before, number=number, place=transaction.last, heads=int(self._witness.has_heads))
        if row is None:
            raise self._put_back()
        generation: int = row["generation"]
        return generation

    def committed(self, number: int, place: int) -> None:
        self.number, self._place = number, place
        self._has_written = True

    def found_after_all(self, number: int, place: int) -> bool:
        """After an error of COMMIT, with every connection closed: make sure of the log, and look what the file says.

        If the batch is there, one more commit makes it durable; only then is it announced.
        """
        self.let_go()
        self.doubt = True
        connection = self._open_again()
        try:
            if self.number != number:
                return False
            connection.execute("BEGIN IMMEDIATE")
            self.mark(Changes(connection, place), number, number)
            connection.execute("COMMIT")
        finally:
            self.let_go()
        return True

    def _begun(self) -> sqlite3.Connection:
        connection = self.connection or self.open()
        for attempt in range(_LOCK_ATTEMPTS):
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._look_for_others(connection)
                return connection
            except sqlite3.OperationalError as error:
                failure = translated(error)
                if not isinstance(failure, StoreLocked) or attempt == _LOCK_ATTEMPTS - 1:
                    raise
                self._standing.problem = str(failure)
        raise StoreLocked

    def _look_for_others(self, connection: sqlite3.Connection) -> None:
        """SQLite counts what other connections committed; all of ours that write are this one."""
        version = connection.execute("PRAGMA data_version").fetchone()["data_version"]
        if self._version is not None and version != self._version:
            self.touched = True
        self._version = version

    def _open_again(self) -> sqlite3.Connection:
        for _ in range(_LOOKS - 1):
            try:
                return self.open()
            except (sqlite3.Error, OSError) as error:
                self._standing.problem = f"The journal cannot be read again yet: {error}."
                self._closing.wait(_LOOK_SECONDS)
        return self.open()
