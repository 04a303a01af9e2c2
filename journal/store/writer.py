"""The thread that writes: takes what waits, commits it as one transaction, answers, and merges the log when nobody waits.

Everything that waits is written in one transaction; only where an operation is refused is it run again, each operation behind
a savepoint of its own. An operation stays in the queue until it is answered: a writer that dies takes none with it.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections import deque

from ..errors import JournalError, StoreFull, StoreLost
from .connections import ReadPool, translated
from .files import Files
from .filesystems import Mode
from .handle import Handle, Standing
from .jobs import Job, one_batch
from .reserve import Reserve
from .witness import Witness

_MOST_IN_A_BATCH = 256
_BREATH_SECONDS = 0.25
_IDLE_SECONDS = 5.0
_UNHURRIED_SECONDS = 0.5
MERGE_PAGES = 800
_PAGES_PER_OPERATION = 10.0


class Writer:
    """Its queue and its thread, which is started when there is something to do, and again if it died."""

    def __init__(
        self, handle: Handle, files: Files, witness: Witness, reserve: Reserve, pool: ReadPool, standing: Standing, closing: threading.Event
    ) -> None:
        self.thread: threading.Thread | None = None
        self._handle, self._files, self._witness, self._reserve, self._pool = handle, files, witness, reserve, pool
        self._standing, self._closing = standing, closing
        self._jobs: deque[Job] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._attempt: tuple[int, list[Job]] | None = None
        self._state = threading.Lock()
        self._since_merge = 0
        self._pages_per_operation = _PAGES_PER_OPERATION

    def put(self, jobs: list[Job]) -> None:
        """Queue what belongs together.

        If none of it is in a hurry, it is written with the next that is, or after half a second in which nothing came.
        """
        with self._state:
            if self._standing.ended:
                for job in jobs:
                    job.fail(self._standing.ended)
                return
            self._jobs.extend(jobs)
            self._bell.put(None)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._write, name="durable-journal", daemon=True)
                self.thread.start()

    def close(self, end: JournalError) -> None:
        """Write what waits, end the thread. From now on everything fails with `end`."""
        with self._state:
            self._standing.ended = end  # also after a loss: who waits for a lost journal must not wait for ever
            self._closing.set()
            self._bell.put(None)
            thread = self.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._fail_waiting(end)

    # -- the thread -----------------------------------------------------------------------------

    def _write(self) -> None:
        """The writer thread. If it dies, nobody waits for ever, and the next submit starts another."""
        try:
            while True:
                self._wait()
                while self._jobs:
                    self._commit(self._gather())
                    self._merge()
                    if not self._is_wanted():
                        break
                if self._closing.is_set() and not self._jobs:
                    return
        except BaseException as death:
            self._bury(death)

    def _wait(self) -> None:
        """Until something is to be done. In a pause the heads are written, and now and then it is seen that the journal is still ours.

        What is in no hurry waits a little for company.
        """
        patience = _BREATH_SECONDS
        while not self._jobs and not self._rings(patience):  # what a full batch left behind has rung already
            self._look_after()
            patience = _IDLE_SECONDS
        while self._jobs and not self._is_wanted() and self._rings(_UNHURRIED_SECONDS):
            pass

    def _rings(self, patience: float) -> bool:
        """Whether something was queued; what is written already may still ring. After so many seconds: no."""
        try:
            self._bell.get(timeout=patience)
        except queue.Empty:
            return False
        return True

    def _is_wanted(self) -> bool:
        """Whether somebody waits for what is queued, or for the end."""
        return self._closing.is_set() or not all(job.unhurried for job in tuple(self._jobs))

    def _look_after(self) -> None:
        if self._standing.ended:
            return
        try:
            self._witness.check()
            self._witness.keep()
        except StoreLost as lost:
            self._standing.ended = lost
            self._handle.let_go()
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
        self._standing.problem = None
        self._reserve.take()
        self._since_merge += len(batch)
        assert self._handle.number is not None
        self._witness.note(generation, self._handle.number)
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
        self._handle.let_go()
        return self._transact(batch)

    def _failure(self, error: Exception) -> JournalError:
        """What the whole batch failed with. A replaced file ends the store; the rest may pass."""
        failure = translated(error) if isinstance(error, sqlite3.Error) else error
        if not isinstance(failure, JournalError):
            failure = StoreLost(f"{error}.")
        self._standing.problem = str(failure)
        self._handle.let_go()
        try:
            self._witness.check()
        except StoreLost as lost:
            self._standing.ended = lost
        if isinstance(self._standing.ended, StoreLost):
            self._witness.insist()
            return self._standing.ended
        return failure

    def _transact(self, batch: list[Job]) -> int:
        """Answers the generation in which it was written."""
        if not batch[0].sweeping:
            return self._write_batch(batch)
        # For each body that is removed SQLite would read every table that may name one. The sweep has looked, and
        # what was named since stands in its way; the setting can only be changed between transactions.
        connection = self._handle.connection or self._handle.open()
        connection.execute("PRAGMA foreign_keys = off")
        try:
            return self._write_batch(batch)
        finally:
            if self._handle.connection is not None:  # after an error it is let go, and a new one looks again
                self._handle.connection.execute("PRAGMA foreign_keys = on")

    def _write_batch(self, batch: list[Job]) -> int:
        handle = self._handle
        try:
            transaction = handle.begin()
            connection, number = handle.connection, handle.attempted
            assert connection is not None
            self._attempt = number, batch
            if not all(job.attempt(connection, transaction) for job in batch):
                connection.execute("ROLLBACK")
                transaction = handle.begin()
                for job in batch if len(batch) > 1 else ():
                    job.run(connection, transaction)
            generation = handle.mark(transaction, number - 1, number)
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
        handle.committed(number, transaction.last)
        return generation

    def _found_after_all(self, number: int, place: int) -> bool:
        with self._pool.paused():
            return self._handle.found_after_all(number, place)

    def _merge(self) -> None:
        """Merge the WAL when it has grown, and put right what is beside it; the futures are resolved already."""
        if self._handle.connection is None or self._since_merge * self._pages_per_operation < MERGE_PAGES:
            return
        self._witness.keep()
        if self._files.place.mode is not Mode.WAL:
            self._since_merge = 0
            return
        try:
            _, pages, _ = self._handle.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone().values()
        except sqlite3.Error as error:
            self._standing.problem = str(translated(error))
            return
        self._pages_per_operation = max(1.0, pages / self._since_merge)
        self._since_merge = 0

    def _bury(self, death: BaseException) -> None:
        """Answer everybody who waits for a writer that is dead. Only what was attempted may have been committed."""
        error = StoreLost(f"The writer ended: {type(death).__name__}.")
        with self._state:
            self._standing.problem = str(error)
            self._handle.let_go()
            self._handle.doubt = True
            number, batch = self._attempt or (0, [])
            if batch and self._handle.is_at(number):
                for job in batch:
                    job.resolve_late()
            self._fail_waiting(error)
            self._attempt = None
            self.thread = None
            if isinstance(self._standing.ended, StoreLost):
                self._witness.insist()

    def _fail_waiting(self, error: JournalError) -> None:
        while self._jobs:
            job = self._jobs.popleft()
            if not job.future.done():
                job.fail(error)
