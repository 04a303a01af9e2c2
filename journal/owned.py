"""An open journal as a thing that this process owns: taken, checked, written to, kept small, copied, let go of.

It knows how a write gets to the store and nothing of what is written. Large bodies that a write names are durable before it is
queued; every write answers with a future that resolves when it is durable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self, TypeVar

from . import backup, codec, restoring, runs, upkeep, verify
from .backup import Backup
from .clock import Clock
from .codec import Body
from .collection import Desk, Removed
from .errors import JournalError, StoreFull, TooLarge
from .ids import CallId, Digest, Ids
from .intake import Intake
from .look import Look
from .masking import Masker
from .pins import Pins
from .reading import Reading
from .records import Call, ResumePoint
from .replay import NOTHING, Allowlist
from .retention import Policy
from .scribe import Scribe
from .store.base import NO_ROOM, Keep, Restored, Store, Transaction
from .store.sqlite import SqliteStore
from .verify import Progress

T = TypeVar("T")

MOST_INTENT = 64 * 1024 * 1024


def _no_rest() -> bool:
    return False


class Owned(Reading):
    """A journal that is open, and owned by this process."""

    def __init__(
        self, store: Store, *, masker: Masker, clock: Clock, ids: Ids, boot_id: str, folder: Path, allowlist: Allowlist = NOTHING
    ) -> None:
        super().__init__(store.read, masker=masker, clock=clock, boot_id=boot_id)
        self.allowlist = allowlist
        self._store = store
        self._intake = Intake(masker)
        self._ids = ids
        self._folder = folder
        self._pins = Pins()
        self._upkeep = threading.Lock()
        self._begun: dict[CallId, Call] = {}

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        masker: Masker,
        clock: Clock | None = None,
        ids: Ids | None = None,
        boot: dict[str, Any],
        allowlist: Allowlist = NOTHING,
        other_heads: Iterable[Path] = (),
    ) -> Self:
        """Take the ownership, check, migrate, note this process. Raises a JournalError.

        `allowlist` is what may run again without a person (I4); without one, nothing may.
        `other_heads` are places outside the folder that remember how far the journal has come. If it was put back to
        an earlier state, every unfinished run is on hold for that when this returns; `restored` says so.
        """
        clock = clock or Clock()
        ids = ids or Ids(clock)
        boot_id = ids.new("boot")
        store = SqliteStore(Path(folder), clock.now(), opening=boot_id, other_heads=other_heads)

        def begin(scribe: Scribe) -> None:
            scribe.tx.change("add_boot", boot_id=scribe.boot_id, now=scribe.now, facts=facts)
            if store.restored is not None:
                restoring.begin(scribe, store.restored)

        try:
            facts = codec.encode(masker.mask(boot, names=False).value)
            ids.continue_after(store.read(runs.newest_ids))
            journal = cls(store, masker=masker, clock=clock, ids=ids, boot_id=boot_id, folder=Path(folder), allowlist=allowlist)
            journal._write(begin).result()
        except BaseException:
            store.close()
            raise
        return journal

    def together(self) -> AbstractContextManager[None]:
        """What is handed in inside the block is durable at one moment: a result, its checkpoint and the next intent (N+1).

        Each keeps a fate of its own: a refused intent takes no result with it. Wait for the futures after the block.
        """
        return self._store.together()

    def close(self) -> None:
        """Finish what was submitted, note a clean end, let go of the files."""
        self._write(lambda scribe: scribe.tx.change("end_boot", boot_id=scribe.boot_id, now=scribe.now))
        self._store.close()

    @staticmethod
    def look(folder: Path, *, masker: Masker, clock: Clock | None = None) -> Look:
        """Read a journal without owning it, beside a running server too; one of a newer version as far as it can be read."""
        return Look(folder, masker=masker, clock=clock)

    def verify(self) -> Iterator[Progress]:
        """Read everything and say what is not what was written; takes as long as that takes, and holds nobody up."""
        return verify.verify(self._folder)

    @property
    def schema(self) -> int:
        """The schema version of this journal."""
        return self._store.schema

    @property
    def problem(self) -> str | None:
        """Why writes do not get through right now, or None."""
        return self._store.problem

    @property
    def restored(self) -> Restored | None:
        """Set if this opening found that the journal was put back, replaced or moved."""
        return self._store.restored

    @property
    def notes(self) -> list[str]:
        """What a person should know once about where the journal lies, as sentences."""
        return self._store.notes

    @property
    def touched(self) -> bool:
        """Whether another program wrote to this journal while it was open here."""
        return self._store.touched

    def reading(self) -> AbstractContextManager[None]:
        """What this thread reads inside the block sees one state, and costs less. Do not wait for a write in it."""
        return self._store.reading()

    # -- upkeep ---------------------------------------------------------------------------------

    def known(self, chat_id: str) -> set[Digest]:
        """The nodes of this chat that need not be handed in again. Add what was stored; see `forget_known`."""
        return self._pins.known(chat_id)

    def forget_known(self, chat_id: str) -> None:
        """Let a collection have them: the next resume point is handed in whole. Only while none is being made."""
        self._pins.forget(chat_id)

    def plan(self, policy: Policy, *, rest: Callable[[], bool] = _no_rest) -> Removed:
        """What `prune` would remove now."""
        return upkeep.plan(self._desk(rest), policy)

    def prune(self, policy: Policy, *, rest: Callable[[], bool] = _no_rest) -> Removed:
        """Remove what the policy lets go, in the caller's thread. `rest` is called between batches and answers True to stop."""
        with self._upkeep:
            return upkeep.prune(self._desk(rest), policy)

    def backup(self, keep: int = backup.KEEP, *, step: Callable[[], None] = backup.no_step) -> Backup:
        """A verified copy of everything, made beside running writes, in the caller's thread; the newest `keep` stay."""
        with self._upkeep:  # nothing is collected meanwhile
            return backup.make(self._store.bodies.folder.parent, keep=keep, clock=self.clock, ids=self._ids, step=step)

    def _desk(self, rest: Callable[[], bool]) -> Desk:
        return Desk(self._store.read, self._write, self._store.bodies, self._pins, self.clock.now, rest)

    # -- how a write gets to the store ---------------------------------------------------------------------------------

    def _write(
        self, operation: Callable[[Scribe], T | Keep], *named: Body | ResumePoint | None, sweeping: bool = False, unhurried: bool = False
    ) -> Future[T]:
        """Queue an operation. Large bodies that it names become durable here, in the caller's thread, before it is queued."""
        try:
            kept = self._store.keep(_handed_in(named))
        except JournalError as error:
            return failed(error)

        def write(tx: Transaction) -> T | Keep:
            return operation(Scribe(tx, self.clock.now(), self.boot_id, self._ids, self._begun, self._pins, kept.stubs))

        future = self._store.submit(write, sweeping=sweeping, unhurried=unhurried)
        if kept.stubs:
            future.add_done_callback(lambda done: kept.release())
        return future

    def _write_sized(self, field: str, body: Body, operation: Callable[[Scribe], T | Keep], *named: Body | ResumePoint | None) -> Future[T]:
        if len(body.data) > MOST_INTENT:
            return failed(TooLarge(field, size=len(body.data), limit=MOST_INTENT))
        return self._write(operation, body, *named)

    def _check_room(self) -> None:
        if not self._store.has_room():
            raise StoreFull(NO_ROOM)


def _handed_in(named: Iterable[Body | ResumePoint | None]) -> Iterator[tuple[str, bytes]]:
    for each in named:
        if isinstance(each, Body):
            yield each.digest, each.data
        elif each is not None:
            yield from each.nodes.items()


def failed(error: JournalError) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future
