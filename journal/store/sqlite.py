"""The default store: one SQLite file, one supervised writer thread, group commit.

WAL with synchronous=FULL: what a future announced survives a power cut. Everything that waits is written in one
transaction; only where an operation is refused is it run again, each operation behind a savepoint of its own. The WAL is
merged after the futures are resolved, so that nobody waits for it. An error of COMMIT means "not known": the log is made
sure of, and the file is opened afresh and asked. A file that is put back to an earlier state while it is open ends the
store.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from ..errors import JournalError, StoreClosed, StoreFull, StoreLocked, StoreLost
from ..ids import Ids
from . import migrate
from .base import NO_ROOM, Keep, Reader, Restored, Transaction
from .bodies import Bodies, Kept
from .connections import Changes, Queries, ReadPool, connect, finish, translated
from .files import Files
from .filesystems import Mode
from .jobs import Job, one_batch
from .opening import open_writer, prepare, settle_log
from .ownership import OwnerLock
from .reserve import Reserve
from .witness import PUT_BACK, Witness

T = TypeVar("T")

_MOST_IN_A_BATCH = 256
_LOCK_ATTEMPTS = 8
_LOOKS = 8
_LOOK_SECONDS = 0.25
_BREATH_SECONDS = 0.05
_IDLE_SECONDS = 5.0
MERGE_PAGES = 800
_PAGES_PER_OPERATION = 10.0


class _Group:
    """One `together` block. A task or thread that was started in it may carry it on, and is no part of it."""

    __slots__ = ("jobs", "store", "thread")

    def __init__(self, store: SqliteStore) -> None:
        self.store: SqliteStore | None = store
        self.thread = threading.get_ident()
        self.jobs: list[Job] = []


_group: ContextVar[_Group | None] = ContextVar("durable_journal_group", default=None)


class SqliteStore:
    """See store/base.py for the promises."""

    def __init__(self, folder: Path, now: int, *, opening: str = "", other_heads: Iterable[Path] = ()) -> None:
        """Take the ownership, check, create or migrate. Raises a JournalError and leaves nothing open.

        `opening` is an id that no other opening has. Head files are kept in the folder and at each of `other_heads`.
        """
        self._files = Files(folder)
        self._files.make_folder()
        self._process = os.getpid()
        # A job stays in `_jobs` until it is answered, so that a writer that dies between two lines takes none with it.
        self._jobs: deque[Job] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._attempt: tuple[int, list[Job]] | None = None
        self._doubt = False
        self._state = threading.Lock()
        self._writer: threading.Thread | None = None
        self._closing = threading.Event()
        self._ended: JournalError | None = None
        self._problem: str | None = None
        self._since_merge = 0
        self._pages_per_operation = _PAGES_PER_OPERATION
        self._attempted = 0
        self.bodies = Bodies(folder)
        self._place = 0
        self._number: int | None = None
        self._has_written = False
        self._witness = Witness(self._files, other_heads, opening or Ids().new("opening"))
        self._reserve = Reserve(self._files.reserve)
        self._connection: sqlite3.Connection | None = None
        self._version: int | None = None
        self._touched = False
        self._lock = OwnerLock(self._files.lock)
        try:
            made = prepare(self._files, now)
            self._connection = self._open()
            self._witness.judge(Queries(self._connection), made=made)
        except sqlite3.Error as error:
            self._give_up()
            raise translated(error) from error
        except OSError as error:
            self._give_up()
            raise StoreLost(f"{error}.") from error
        except BaseException:
            self._give_up()
            raise
        self._reserve.take()
        self._held = threading.local()
        self._pool = ReadPool(lambda: connect(self._files.journal, writes=False, mode=self._files.place.mode), self.bodies.read)

    # -- opening --------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self._doubt:
            settle_log(self._files)
            self._doubt = False
        connection, number, place = open_writer(self._files)
        if self._number is not None and number not in (self._number, self._attempted):
            connection.close()
            self._ended = StoreLost(PUT_BACK)
            raise self._ended
        self._number, self._place = number, place
        self._version = None
        return connection

    def _give_up(self) -> None:
        self._let_go()
        self._lock.release()

    # -- the door -------------------------------------------------------------------------------

    @property
    def problem(self) -> str | None:
        if self._ended or self._problem or self._reserve.is_held:
            return str(self._ended) if self._ended else self._problem
        return str(StoreFull(NO_ROOM))

    @property
    def touched(self) -> bool:
        return self._touched

    @property
    def schema(self) -> int:
        return migrate.newest()

    @property
    def restored(self) -> Restored | None:
        return self._witness.restored

    @property
    def notes(self) -> list[str]:
        return self._witness.notes

    def has_room(self) -> bool:
        return self._reserve.is_held or self._reserve.take()

    def keep(self, bodies: Iterable[tuple[str, bytes]]) -> Kept:
        large = list(bodies)
        try:
            return self.bodies.keep(large)
        except StoreFull:
            if not self._reserve.is_held:
                raise
            self._reserve.give_up()  # a result that is at hand may use the room that was kept
        return self.bodies.keep(large)

    def submit(self, operation: Callable[[Transaction], T | Keep], *, sweeping: bool = False) -> Future[T]:
        job = Job(operation, sweeping=sweeping)
        if os.getpid() != self._process:
            job.future.set_exception(StoreClosed("This process is a copy of the one that owns the journal."))
            return job.future
        group = self._open_group()
        if group is not None:
            group.jobs.append(job)
        else:
            self._put([job])
        return job.future

    @contextmanager
    def together(self) -> Iterator[None]:
        if self._open_group() is not None:
            yield  # the outer block's commit
            return
        group = _Group(self)
        mark = _group.set(group)
        try:
            yield
        finally:
            # Also after an error in the block: a result that was handed in has happened.
            group.store = None
            _group.reset(mark)
            for job in group.jobs[:-1]:
                job.is_followed = True
            if group.jobs:
                self._put(group.jobs)

    def _open_group(self) -> _Group | None:
        group = _group.get()
        return group if group is not None and group.store is self and group.thread == threading.get_ident() else None

    def _put(self, jobs: list[Job]) -> None:
        with self._state:
            if self._ended:
                for job in jobs:
                    job.fail(self._ended)
                return
            self._jobs.extend(jobs)
            self._bell.put(None)
            if self._writer is None or not self._writer.is_alive():
                self._writer = threading.Thread(target=self._write, name="durable-journal", daemon=True)
                self._writer.start()

    def read(self, operation: Callable[[Reader], T]) -> T:
        if os.getpid() != self._process:
            raise StoreClosed
        if self._ended:
            raise self._ended
        held: Reader | None = getattr(self._held, "reader", None)
        try:
            if held is not None:
                return operation(held)
            with self._pool.reading() as reader:
                return operation(reader)
        except sqlite3.Error as error:
            raise translated(error) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        if getattr(self._held, "reader", None) is not None:
            yield  # the outer block's state
            return
        try:
            with self._pool.reading() as self._held.reader:
                yield
        except sqlite3.Error as error:
            raise translated(error) from error
        finally:
            self._held.reader = None

    def close(self) -> None:
        if os.getpid() != self._process:
            return
        with self._state:
            self._ended = StoreClosed()  # also after a loss: who waits for a lost journal must not wait for ever
            self._closing.set()
            self._bell.put(None)
            writer = self._writer
        if writer is not None and writer is not threading.current_thread():
            writer.join()
        self._fail_waiting(StoreClosed())
        self._pool.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._finish(connection)
        self._witness.close()
        self._lock.release()

    def _finish(self, connection: sqlite3.Connection) -> None:
        try:
            self._witness.check()
            finish(connection)
        except (StoreLost, sqlite3.Error):
            # Another file may stand there by now: merge nothing into it, remove nothing beside it.
            connection.close()
            self._witness.insist()

    # -- the writer -----------------------------------------------------------------------------

    def _write(self) -> None:
        """The writer thread. If it dies, nobody waits for ever, and the next submit starts another."""
        try:
            while True:
                self._wait()
                while self._jobs:
                    self._commit(self._gather())
                    self._merge()
                if self._closing.is_set() and not self._jobs:
                    return
        except BaseException as death:
            self._bury(death)

    def _wait(self) -> None:
        """Until something is to be done. In a pause the heads are written, and now and then it is seen that the journal is still ours."""
        patience = _BREATH_SECONDS
        while True:
            try:
                return self._bell.get(timeout=patience)
            except queue.Empty:
                self._look_after()
                patience = _IDLE_SECONDS

    def _look_after(self) -> None:
        if self._ended:
            return
        try:
            self._witness.check()
            self._witness.keep()
        except StoreLost as lost:
            self._ended = lost
            self._let_go()
            self._witness.insist()

    def _gather(self) -> list[Job]:
        """What waits, up to a limit that no group is cut at."""
        end = min(len(self._jobs), _MOST_IN_A_BATCH)
        while self._jobs[end - 1].is_followed:
            end += 1
        return one_batch([self._jobs[at] for at in range(end)])

    def _answered(self, batch: list[Job]) -> None:
        for _ in batch:
            self._jobs.popleft()
        self._attempt = None

    def _commit(self, batch: list[Job]) -> None:
        try:
            if self._files.place.mode is not Mode.WAL:
                self._files.check_same()  # each write makes a file beside the journal: it must be ours
            generation = self._transact_with_reserve(batch)
            self._witness.check(whole=False)  # before anything of it is announced
        except (sqlite3.Error, JournalError, OSError) as error:
            failure = self._failure(error)
            for job in batch:
                job.fail(failure)
            self._answered(batch)
            return
        self._problem = None
        self._reserve.take()
        self._since_merge += len(batch)
        assert self._number is not None
        self._witness.note(generation, self._number)
        for job in batch:
            job.resolve()
        self._answered(batch)

    def _transact_with_reserve(self, batch: list[Job]) -> int:
        """On a full disk once more in the room that was kept: new work is refused then, and results are saved."""
        was_held = self._reserve.is_held
        try:
            return self._transact(batch)
        except StoreFull:
            self._reserve.give_up()
            if not was_held:
                raise
        self._let_go()
        return self._transact(batch)

    def _failure(self, error: Exception) -> JournalError:
        """What the whole batch failed with. A replaced file ends the store; the rest may pass."""
        failure = translated(error) if isinstance(error, sqlite3.Error) else error
        if not isinstance(failure, JournalError):
            failure = StoreLost(f"{error}.")
        self._problem = str(failure)
        self._let_go()
        try:
            self._witness.check()
        except StoreLost as lost:
            self._ended = lost
        if isinstance(self._ended, StoreLost):
            self._witness.insist()
            return self._ended
        return failure

    def _transact(self, batch: list[Job]) -> int:
        """Answers the generation in which it was written."""
        if not batch[0].sweeping:
            return self._write_batch(batch)
        # For each body that is removed SQLite would read every table that may name one. The sweep has looked, and
        # what was named since stands in its way; the setting can only be changed between transactions.
        if self._connection is None:
            self._connection = self._open()
        self._connection.execute("PRAGMA foreign_keys = off")
        try:
            return self._write_batch(batch)
        finally:
            if self._connection is not None:  # after an error it is let go, and a new one looks again
                self._connection.execute("PRAGMA foreign_keys = on")

    def _write_batch(self, batch: list[Job]) -> int:
        try:
            connection = self._begin()
            assert self._number is not None
            before, number = self._number, self._number + 1
            self._attempted = number
            self._attempt = number, batch
            transaction = self._first(connection, number)
            if not all(job.attempt(connection, transaction) for job in batch):
                connection.execute("ROLLBACK")
                transaction = self._first(self._begin(), number)
                for job in batch if len(batch) > 1 else ():
                    job.run(connection, transaction)
            generation = self._mark(transaction, before, number)
        except sqlite3.Error as error:
            raise translated(error) from error
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = translated(error)
            if isinstance(failure, StoreFull):
                self._reserve.give_up()  # looking may need space as well
            if not self._found_after_all(number, transaction.last):
                raise failure from error
        self._number, self._place = number, transaction.last
        self._has_written = True
        return generation

    def _first(self, connection: sqlite3.Connection, number: int) -> Changes:
        """The beginning of a transaction; of an opening's first one what it says about itself."""
        transaction = Changes(connection, self._place, self.bodies.read)
        if not self._has_written:
            transaction.change("add_opening", opening=self._witness.opening, first_batch=number)
            transaction.change("name_journal", opening=self._witness.opening)
        return transaction

    def _mark(self, transaction: Changes, before: int, number: int) -> int:
        heads = int(self._witness.has_heads)
        row = transaction.one("mark_batch", before=before, number=number, place=transaction.last, heads=heads)
        if row is None:
            self._ended = StoreLost(PUT_BACK)
            raise self._ended
        generation: int = row["generation"]
        return generation

    def _begin(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._open()
        for attempt in range(_LOCK_ATTEMPTS):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._look_for_others(self._connection)
                return self._connection
            except sqlite3.OperationalError as error:
                failure = translated(error)
                if not isinstance(failure, StoreLocked) or attempt == _LOCK_ATTEMPTS - 1:
                    raise
                self._problem = str(failure)
        raise StoreLocked

    def _look_for_others(self, connection: sqlite3.Connection) -> None:
        """SQLite counts what other connections committed; all of ours that write are this one."""
        version = connection.execute("PRAGMA data_version").fetchone()["data_version"]
        if self._version is not None and version != self._version:
            self._touched = True
        self._version = version

    def _found_after_all(self, number: int, place: int) -> bool:
        """After an error of COMMIT: let go of every connection, make sure of the log, and look what the file says.

        If the batch is there, one more commit makes it durable; only then is it announced.
        """
        with self._pool.paused():
            self._let_go()
            self._doubt = True
            connection = self._open_again()
            try:
                if self._number != number:
                    return False
                connection.execute("BEGIN IMMEDIATE")
                self._mark(Changes(connection, place), number, number)
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
        """Merge the WAL when it has grown, and put right what is beside it; the futures are resolved already."""
        if self._connection is None or self._since_merge * self._pages_per_operation < MERGE_PAGES:
            return
        self._witness.keep()
        if self._files.place.mode is not Mode.WAL:
            self._since_merge = 0
            return
        try:
            _, pages, _ = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone().values()
        except sqlite3.Error as error:
            self._problem = str(translated(error))
            return
        self._pages_per_operation = max(1.0, pages / self._since_merge)
        self._since_merge = 0

    def _bury(self, death: BaseException) -> None:
        """Answer everybody who waits for a writer that is dead. Only what was attempted may have been committed."""
        error = StoreLost(f"The writer ended: {type(death).__name__}.")
        with self._state:
            self._problem = str(error)
            self._let_go()
            self._doubt = True
            number, batch = self._attempt or (0, [])
            if batch and self._is_last(number):
                for job in batch:
                    job.resolve_late()
            self._fail_waiting(error)
            self._attempt = None
            self._writer = None
            if isinstance(self._ended, StoreLost):
                self._witness.insist()

    def _is_last(self, number: int) -> bool:
        try:
            self._connection = self._open()
        except (sqlite3.Error, JournalError, OSError) as error:
            self._problem = str(error)
            return False
        return self._number == number

    def _fail_waiting(self, error: JournalError) -> None:
        while self._jobs:
            job = self._jobs.popleft()
            if not job.future.done():
                job.fail(error)

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
