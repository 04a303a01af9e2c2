"""The resume point of the step that is under way. Nobody waits for it: what is written next stands behind it and proves it.

Where the journal could not take it, it is handed in again before whatever comes next, which else would stand on nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from ..journal.errors import Unavailable


@dataclass(slots=True)
class LastPoint:
    """Of one run, used by the coroutine that works on it. It belongs to that coroutine: whoever replaces it takes a point of its own."""

    _submit: Callable[[], Future[int]] | None = None
    _future: Future[int] | None = None

    def handed_in(self, submit: Callable[[], Future[int]], future: Future[int]) -> None:
        self._submit, self._future = submit, future

    def again_if_lost(self) -> None:
        """Before each attempt to write what stands on it. What a rule refuses is not tried again."""
        if self._submit is None or self._future is None or not self._future.done():
            return
        if isinstance(self._future.exception(), Unavailable):
            self._future = self._submit()

    def forget(self) -> None:
        self._submit = self._future = None
