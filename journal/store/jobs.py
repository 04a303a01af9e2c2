"""One submitted operation: from its place in the queue to the answer that somebody waits for.

An operation has a fate of its own inside a shared transaction: what it wrote goes if it fails, and its neighbours stay.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from .base import Keep, Transaction
from .connections import Changes, refused


class Job:
    """An operation and its future."""

    __slots__ = ("begun", "future", "is_followed", "operation", "outcome", "sweeping", "unhurried")

    def __init__(self, operation: Callable[[Transaction], Any], *, sweeping: bool = False, unhurried: bool = False) -> None:
        self.operation = operation
        self.sweeping = sweeping
        self.unhurried = unhurried
        self.future: Future[Any] = Future()
        self.outcome: Any = None
        self.begun = False
        self.is_followed = False  # by one that has to be in the same transaction

    def attempt(self, connection: sqlite3.Connection, transaction: Transaction) -> bool:
        """Work as if nothing could be refused; False: it was, and the whole transaction has to be taken back."""
        if self.outcome is _DROPPED or not self._begin():
            self.outcome = _DROPPED
            return True
        try:
            self.outcome = self.operation(transaction)
        except sqlite3.Error as error:
            refusal = refused(error)
            if refusal is None or not connection.in_transaction:
                raise
            self.outcome = _Failed(refusal)
        except Exception as error:
            self.outcome = _Failed(error)
        return not isinstance(self.outcome, _Failed)

    def run(self, connection: sqlite3.Connection, transaction: Changes) -> None:
        """Work behind a savepoint. Raises only what puts the whole connection in doubt."""
        if self.outcome is _DROPPED or not self._begin():
            self.outcome = _DROPPED
            return
        connection.execute("SAVEPOINT operation")
        place = transaction.last
        try:
            self.outcome = self.operation(transaction)
        except sqlite3.Error as error:
            refusal = refused(error)
            if refusal is None or not connection.in_transaction:
                raise
            self.outcome = _Failed(refusal)
        except Exception as error:
            # The rules said no, or an operation is wrong: its own writes go, the others' stay.
            self.outcome = _Failed(error)
        if isinstance(self.outcome, _Failed):
            connection.execute("ROLLBACK TO operation")
            transaction.last = place
        connection.execute("RELEASE operation")

    def resolve(self) -> None:
        """It is committed."""
        if self.outcome is _DROPPED:
            return
        if isinstance(self.outcome, Keep | _Failed):
            self.future.set_exception(self.outcome.error)
        else:
            self.future.set_result(self.outcome)

    def resolve_late(self) -> None:
        """The same, where the writer may have died while it did this."""
        with suppress(InvalidStateError):
            self.resolve()

    def fail(self, error: BaseException) -> None:
        """Nothing of it was committed. Whoever submitted it may have taken it back meanwhile."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)

    def _begin(self) -> bool:
        """From now on it is too late to take it back. False if it was taken back before."""
        self.begun = self.begun or self.future.set_running_or_notify_cancel()
        return self.begun


def one_batch(jobs: list[Job]) -> list[Job]:
    """What of these goes into one transaction, from the first on. A sweep goes alone."""
    return jobs[: next((at for at, job in enumerate(jobs) if job.sweeping), len(jobs)) or 1]


_DROPPED = object()


class _Failed:
    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error
