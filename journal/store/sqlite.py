"""The default store: one SQLite file, one supervised writer thread, group commit.

WAL with synchronous=FULL: what a future announced survives a power cut. Everything that waits is written in one
transaction, each operation behind a savepoint of its own. The WAL is merged after the futures are resolved, so that
nobody waits for it. An error of COMMIT means "not known": the file is opened afresh and asked.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ..errors import JournalError, StoreClosed, StoreLocked, StoreLost
from . import migrate
from .base import Keep, Reader, Transaction
from .connections import Queries, ReadPool, connect, finish, refused, translated
from .files import Files
from .opening import open_writer, prepare
from .ownership import OwnerLock

T = TypeVar("T")

_MOST_IN_A_BATCH = 256
_LOCK_ATTEMPTS = 8
_LOOKS = 8
_LOOK_SECONDS = 0.25
_MERGE_PAGES = 250
_PAGES_PER_OPERATION = 10.0


class _Job:
    """One submitted operation and the future that somebody waits for."""

    __slots__ = ("future", "operation", "outcome")

    def __init__(self, operation: Callable[[Transaction], Any]) -> None:
        self.operation = operation
        self.future: Future[Any] = Future()
        self.outcome: Any = None

    def resolve(self) -> None:
        if self.outcome is _DROPPED:
            return
        if isinstance(self.outcome, Keep | _Failed):
            self.future.set_exception(self.outcome.error)
        else:
            self.future.set_result(self.outcome)

    def fail(self, error: BaseException) -> None:
        """Nothing of it was committed. Whoever submitted it may have taken it back meanwhile."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)


_DROPPED = object()


class _Failed:
    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class SqliteStore:
    """See store/base.py for the promises."""

    def __init__(self, folder: Path, now: int) -> None:
        """Take the ownership, check, create or migrate. Raises a JournalError and leaves nothing open."""
        self._files = Files(folder)
        self._files.make_folder()
        self._process = os.getpid()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._state = threading.Lock()
        self._writer: threading.Thread | None = None
        self._closing = threading.Event()
        self._ended: JournalError | None = None
        self._problem: str | None = None
        self._since_merge = 0
        self._pages_per_operation = _PAGES_PER_OPERATION
        self._attempted = 0
        self._lock = OwnerLock(self._files.lock)
        try:
            prepare(self._files, now)
            self._connection: sqlite3.Connection | None = self._open()
        except sqlite3.Error as error:
            self._lock.release()
            raise translated(error) from error
        except BaseException:
            self._lock.release()
            raise
        self._pool = ReadPool(lambda: connect(self._files.journal, writes=False))

    # -- opening --------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        connection, self._number = open_writer(self._files)
        return connection

    # -- the door -------------------------------------------------------------------------------

    @property
    def problem(self) -> str | None:
        return str(self._ended) if self._ended else self._problem

    @property
    def schema(self) -> int:
        return migrate.newest()

    def submit(self, operation: Callable[[Transaction], T | Keep]) -> Future[T]:
        job = _Job(operation)
        if os.getpid() != self._process:
            job.future.set_exception(StoreClosed("This process is a copy of the one that owns the journal."))
            return job.future
        with self._state:
            if self._ended:
                job.future.set_exception(self._ended)
                return job.future
            self._jobs.put(job)
            if self._writer is None or not self._writer.is_alive():
                self._writer = threading.Thread(target=self._write, name="durable-journal", daemon=True)
                self._writer.start()
        return job.future

    def read(self, operation: Callable[[Reader], T]) -> T:
        if os.getpid() != self._process:
            raise StoreClosed
        if self._ended:
            raise self._ended
        try:
            with self._pool.reading() as reader:
                return operation(reader)
        except sqlite3.Error as error:
            raise translated(error) from error

    def close(self) -> None:
        if os.getpid() != self._process:
            return
        with self._state:
            self._ended = StoreClosed()  # also after a loss: who waits for a lost journal must not wait for ever
            self._closing.set()
            self._jobs.put(None)
            writer = self._writer
        if writer is not None and writer is not threading.current_thread():
            writer.join()
        self._fail_waiting(StoreClosed())
        self._pool.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._finish(connection)
        self._lock.release()

    def _finish(self, connection: sqlite3.Connection) -> None:
        try:
            self._files.check_same()
            finish(connection)
        except (StoreLost, sqlite3.Error):
            # Another file may stand there by now: merge nothing into it, remove nothing beside it.
            connection.close()

    # -- the writer -----------------------------------------------------------------------------

    def _write(self) -> None:
        """The writer thread. If it dies, nobody waits for ever, and the next submit starts another."""
        batch: list[_Job] = []
        try:
            while (first := self._jobs.get()) is not None:
                batch = self._gather(first)
                self._commit(batch)
                batch = []
                self._merge()
        except BaseException as death:
            self._bury(batch, death)

    def _gather(self, first: _Job) -> list[_Job]:
        jobs: list[_Job] = [first]
        while len(jobs) < _MOST_IN_A_BATCH:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            jobs.append(job)
        return jobs

    def _commit(self, batch: list[_Job]) -> None:
        try:
            self._files.check_same()
            self._transact(batch)
            self._files.check_same()
        except (sqlite3.Error, JournalError, OSError) as error:
            failure = self._failure(error)
            for job in batch:
                job.fail(failure)
            return
        self._problem = None
        self._since_merge += len(batch)
        for job in batch:
            job.resolve()

    def _failure(self, error: Exception) -> JournalError:
        """What the whole batch failed with. A replaced file ends the store; the rest may pass."""
        failure = translated(error) if isinstance(error, sqlite3.Error) else error
        if not isinstance(failure, JournalError):
            failure = StoreLost(f"{error}.")
        self._problem = str(failure)
        self._let_go()
        try:
            self._files.check_same()
        except StoreLost as lost:
            self._ended = lost
            return lost
        return failure

    def _transact(self, batch: list[_Job]) -> None:
        connection = self._begin()
        number = self._attempted = self._number + 1
        transaction = Queries(connection)
        for job in batch:
            self._run(connection, transaction, job)
        transaction.change("mark_batch", number=number)
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if not self._found_after_all(number):
                raise translated(error) from error
        self._number = number

    def _begin(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._open()
        for attempt in range(_LOCK_ATTEMPTS):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                return self._connection
            except sqlite3.OperationalError as error:
                failure = translated(error)
                if not isinstance(failure, StoreLocked) or attempt == _LOCK_ATTEMPTS - 1:
                    raise
                self._problem = str(failure)
        raise StoreLocked

    def _run(self, connection: sqlite3.Connection, transaction: Queries, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():  # only now it is too late to take it back
            job.outcome = _DROPPED
            return
        connection.execute("SAVEPOINT operation")
        try:
            job.outcome = job.operation(transaction)
        except sqlite3.Error as error:
            refusal = refused(error)
            if refusal is None or not connection.in_transaction:
                raise
            job.outcome = _Failed(refusal)
        except Exception as error:
            # The rules said no, or an operation is wrong: its own writes go, the others' stay.
            job.outcome = _Failed(error)
        if isinstance(job.outcome, _Failed):
            connection.execute("ROLLBACK TO operation")
        connection.execute("RELEASE operation")

    def _found_after_all(self, number: int) -> bool:
        """After an error of COMMIT: let go of every connection, so that the file itself is read, and look.

        If the batch is there, one more commit makes it durable; only then is it announced.
        """
        with self._pool.paused():
            self._let_go()
            connection = self._open_again()
            try:
                if self._number != number:
                    return False
                connection.execute("BEGIN IMMEDIATE")
                Queries(connection).change("mark_batch", number=number)
                connection.execute("COMMIT")
            finally:
                connection.close()
            return True

    def _open_again(self) -> sqlite3.Connection:
        for _ in range(_LOOKS - 1):
            try:
                return self._open()
            except (sqlite3.Error, OSError) as error:
                self._problem = f"The journal cannot be read again yet: {error}."
                self._closing.wait(_LOOK_SECONDS)
        return self._open()

    def _merge(self) -> None:
        """Merge the WAL when it has grown; the futures are resolved already."""
        if self._connection is None or self._since_merge * self._pages_per_operation < _MERGE_PAGES:
            return
        try:
            _, pages, _ = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone().values()
        except sqlite3.Error as error:
            self._problem = str(translated(error))
            return
        self._pages_per_operation = max(1.0, pages / self._since_merge)
        self._since_merge = 0

    def _bury(self, batch: list[_Job], death: BaseException) -> None:
        error = StoreLost(f"The writer ended: {type(death).__name__}.")
        with self._state:
            self._problem = str(error)
            self._let_go()
            committed = self._is_last(self._attempted)
            for job in batch:
                if job.future.done():
                    continue
                if committed:
                    job.resolve()
                else:
                    job.fail(error)
            self._fail_waiting(error)
            self._writer = None

    def _is_last(self, number: int) -> bool:
        try:
            self._connection = self._open()
        except (sqlite3.Error, JournalError, OSError) as error:
            self._problem = str(error)
            return False
        return self._number == number

    def _fail_waiting(self, error: JournalError) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job.fail(error)

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
