"""What every store promises. The engine above it knows only this page.

- An operation runs in a transaction of its own fate: it commits whole, or leaves no trace.
- The future of `submit` resolves only after the commit is durable: a power cut later takes nothing back.
- Operations of one store run one after another, in the order in which they were submitted.
- An error that the rules raise (a JournalError inside the operation) fails that operation alone.
- What is submitted inside one `together` block is committed in one transaction; each keeps a fate of its own.
- An operation may be run more than once before its one commit, so it changes nothing but the store.
- A future that was cancelled before its operation began was never written; once it began, `cancel` answers False.
- `Unavailable` says nothing about any effect. What failed with it was not committed, unless the store could
  not even look; so operations are written to be submitted again.
- Reads see one consistent state, from any thread, and never write.
- A body that was kept is durable before `keep` returns, and is not removed before it is released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..errors import JournalError
from .bodies import Bodies, Kept

Row = Mapping[str, Any]
T = TypeVar("T")

NO_ROOM = "What runs is still saved; new runs wait until there is space again."
"""What is said where new work may not begin."""


class Reader(Protocol):
    """Runs named queries on one consistent state."""

    def one(self, query: str, **values: Any) -> Row | None: ...

    def all(self, query: str, **values: Any) -> list[Row]: ...


class Read(Protocol):
    """Runs an operation on one consistent state and hands back its answer."""

    def __call__[T](self, operation: Callable[[Reader], T]) -> T: ...


class Transaction(Reader, Protocol):
    """A reader that may also change things; `change` and `change_each` answer how many rows they hit."""

    def change(self, query: str, **values: Any) -> int: ...

    def change_each(self, query: str, rows: Iterable[Mapping[str, Any]]) -> int: ...

    def place(self) -> int:
        """The next place in the order of everything. Places only grow; one that was committed is never given again."""
        ...


@dataclass(frozen=True, slots=True)
class Keep:
    """Returned by an operation whose writes must stay although its caller gets an error."""

    error: JournalError


@dataclass(frozen=True, slots=True)
class Restored:
    """This journal is not the newest state of itself: it was put back, copied over, or moved without its head files."""

    reason: str
    """`rolled_back`: a head file knows more. `replaced`: it knows another journal. `moved`: no head file came along."""
    generation: int
    """The generation that begins because of it."""
    number: int
    """The last batch that this journal has."""
    head: dict[str, Any] | None
    """What the head file says that tells."""


class Store(Protocol):
    def submit(self, operation: Callable[[Transaction], T | Keep], *, sweeping: bool = False, unhurried: bool = False) -> Future[T]:
        """Queue a write. Never raises: what went wrong is in the future.

        `sweeping`: in a transaction of its own, in which the store does not look who names what is removed.
        `unhurried`: nobody waits for it, so that it may wait half a second for another one and share its commit.
        """
        ...

    def keep(self, bodies: Iterable[tuple[str, bytes]]) -> Kept:
        """Make bodies that are too large for a record durable beside it, before the operation that names them."""
        ...

    @property
    def bodies(self) -> Bodies:
        """Those bodies."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """What this task submits inside the block is one commit. Its futures resolve after the block, not in it."""
        ...

    def read(self, operation: Callable[[Reader], T]) -> T:
        """Read in the caller's thread. The operation must not wait for a write."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """All that this thread reads inside the block sees one state. It must neither wait for a write nor await."""
        ...

    @property
    def problem(self) -> str | None:
        """Why writes do not get through right now, or None."""
        ...

    @property
    def touched(self) -> bool:
        """Whether somebody else wrote to what is open here."""
        ...

    @property
    def schema(self) -> int:
        """The schema version of what is open."""
        ...

    @property
    def restored(self) -> Restored | None:
        """Set when the opening found that the journal was put back. The opener begins the new generation."""
        ...

    @property
    def notes(self) -> list[str]:
        """What a person should know once about where the store lies."""
        ...

    def has_room(self) -> bool:
        """Whether new work may begin. False while the disk is full, so that what runs can save how it ended."""
        ...

    def close(self) -> None:
        """Finish what was submitted, then let go of everything."""
        ...
