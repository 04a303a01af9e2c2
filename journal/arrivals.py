"""How the answer of a commit reaches an event loop. One commit answers many: together they wake the loop once.

`asyncio.wrap_future` wakes it for each of them, and each time the writer waits for the loop's thread before it can go on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Any
from weakref import WeakKeyDictionary


def answer_of[T](future: Future[T]) -> asyncio.Future[T]:
    """Something to await in the running loop. Who is cancelled meanwhile takes nothing back: `future` goes on."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[T] = loop.create_future()
    arrivals = _arrivals.setdefault(loop, _Arrivals())
    future.add_done_callback(lambda done: arrivals.put(loop, waiter, done))
    return waiter


class _Arrivals:
    """What has been answered, and did not reach its loop yet."""

    def __init__(self) -> None:
        self._answered: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_called = False

    def put(self, loop: asyncio.AbstractEventLoop, waiter: asyncio.Future[Any], done: Future[Any]) -> None:
        if loop.is_closed():
            return  # nobody waits there any more; and what is kept here would keep the loop
        # First the answer, then the look; `_deliver` does it the other way round, so that nothing is left lying.
        self._answered.append((waiter, done))
        if not self._is_called:
            self._is_called = True
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_called = False
        while self._answered:
            waiter, done = self._answered.popleft()
            if waiter.done():
                continue
            if done.cancelled():
                waiter.cancel()
            elif (error := done.exception()) is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(done.result())


_arrivals: WeakKeyDictionary[asyncio.AbstractEventLoop, _Arrivals] = WeakKeyDictionary()
