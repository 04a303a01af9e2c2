"""The default store: one SQLite file, one supervised writer thread, group commit.

WAL with synchronous=FULL: what a future announced survives a power cut. What is written goes through `writer.py`, over the
one connection of `handle.py`; reads have a pool of their own. A file that is put back to an earlier state while it is open
ends the store.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from ..errors import StoreClosed, StoreFull, StoreLost
from ..ids import Ids
from . import migrate
from .base import NO_ROOM, Keep, Reader, Restored, Transaction
from .bodies import LARGE, NOTHING_KEPT, Bodies, Kept
from .connections import Queries, ReadPool, connect, finish, translated
from .files import Files
from .handle import Handle, Standing
from .jobs import Job
from .opening import prepare
from .ownership import OwnerLock
from .reserve import Reserve
from .witness import Witness
from .writer import Writer

T = TypeVar("T")


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
        self._files = files = Files(folder)
        files.make_folder()
        self._process = os.getpid()
        self._standing, closing = Standing(), threading.Event()
        self.bodies = Bodies(folder)
        self._witness = Witness(files, other_heads, opening or Ids().new("opening"))
        self._reserve = Reserve(files.reserve)
        self._handle = Handle(files, self.bodies, self._witness, self._standing, closing)
        self._held = threading.local()
        self._pool = ReadPool(lambda: connect(files.journal, writes=False, mode=files.place.mode), self.bodies.read)
        self._writer = Writer(self._handle, files, self._witness, self._reserve, self._pool, self._standing, closing)
        self._lock = OwnerLock(files.lock)
        try:
            made = prepare(files, now)
            self._witness.judge(Queries(self._handle.open()), made=made)
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

    def _give_up(self) -> None:
        self._handle.let_go()
        self._lock.release()

    # -- the door -------------------------------------------------------------------------------

    @property
    def problem(self) -> str | None:
        if self._standing.ended or self._standing.problem or self._reserve.is_held:
            return str(self._standing.ended) if self._standing.ended else self._standing.problem
        return str(StoreFull(NO_ROOM))

    @property
    def touched(self) -> bool:
        return self._handle.touched

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
        large = [body for body in bodies if len(body[1]) > LARGE]
        if not large:
            return NOTHING_KEPT
        try:
            return self.bodies.keep(large)
        except StoreFull:
            if not self._reserve.is_held:
                raise
            self._reserve.give_up()  # a result that is at hand may use the room that was kept
        return self.bodies.keep(large)

    def submit(self, operation: Callable[[Transaction], T | Keep], *, sweeping: bool = False, unhurried: bool = False) -> Future[T]:
        job = Job(operation, sweeping=sweeping, unhurried=unhurried)
        if os.getpid() != self._process:
            job.future.set_exception(StoreClosed("This process is a copy of the one that owns the journal."))
            return job.future
        group = self._open_group()
        if group is not None:
            group.jobs.append(job)
        else:
            self._writer.put([job])
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
                self._writer.put(group.jobs)

    def _open_group(self) -> _Group | None:
        group = _group.get()
        return group if group is not None and group.store is self and group.thread == threading.get_ident() else None

    def read(self, operation: Callable[[Reader], T]) -> T:
        if os.getpid() != self._process:
            raise StoreClosed
        if self._standing.ended:
            raise self._standing.ended
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
        self._writer.close(StoreClosed())
        self._pool.close()
        connection, self._handle.connection = self._handle.connection, None
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
