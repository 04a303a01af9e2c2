"""How a hook waits for a commit, and what happens while it cannot be had.

On the host's one shared event loop a real suspension lets every other ready task run
first and costs far more than the commit. So a hook blocks for a few milliseconds and
only then yields. A store that is locked or full parks the step: it waits here, says
why, and tries again; nothing is raised into the host's loop.

A large value is masked, encoded and written to its file in a thread of our own, so that other chats of the loop do
not wait for it. A synchronous hook cannot do that: there the file is written first, and the wait that follows is for
the commit alone.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

from ..journal.arrivals import answer_of
from ..journal.errors import CommitTimeout, StoreClosed, TakenBack, Unavailable
from ..journal.store.bodies import LARGE

BLOCK_S = 0.005
SYNC_S = 1.0
LOOP_SYNC_S = 0.05
NOTICE_S = 3.0
RETRY_S = 0.5
PATIENT_S = 30.0  # outside the host's loop, where a person waits

_PENDING = object()
_MOST_PARTS = 2000


def _quick[T](future: Future[T]) -> T | object:
    """The commit's answer if it comes within a few milliseconds, else `_PENDING`."""
    try:
        return future.result(BLOCK_S)
    except TimeoutError:
        return future.result() if future.done() else _PENDING


def commit[T](future: Future[T]) -> T:
    """Wait for one commit in a synchronous hook; what did not begin by then is taken back and never counts."""
    on_loop = threading.current_thread().name == "AgentContext"
    try:
        return future.result(LOOP_SYNC_S if on_loop else SYNC_S)
    except TimeoutError:
        if future.cancel():
            raise TakenBack from None
    try:
        return future.result(SYNC_S)  # it is being written now
    except TimeoutError:
        raise CommitTimeout from None


def is_large(*values: Any) -> bool:
    """Whether these may take long to save. A look at no more than some parts of them."""
    ahead, size = list(values), 0
    for _ in range(_MOST_PARTS):
        if not ahead or size > LARGE:
            break
        value = ahead.pop()
        if isinstance(value, str | bytes):
            size += len(value)
        elif type(value) is dict:
            ahead.extend(value.values())
        elif type(value) in (list, tuple):
            ahead.extend(value)
    return size > LARGE


async def apart[T](submit: Callable[[], Future[T]]) -> Future[T]:
    """Submit in a thread of our own. It is submitted also when whoever waits for it here is cancelled."""
    submitted: Future[Future[T]] = Future()
    submitted.set_running_or_notify_cancel()

    def work() -> None:
        try:
            submitted.set_result(submit())
        except BaseException as error:
            submitted.set_exception(error)

    threading.Thread(target=work, name="durable-large", daemon=True).start()
    return await asyncio.wrap_future(submitted)


async def answered[T](future: Future[T], seconds: float) -> T:
    """The commit's answer, without a word about it and without holding the loop, for so long. Raises TimeoutError."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
    except TimeoutError:
        if future.done() and not future.cancelled():
            return future.result()  # it came in time; the loop was held up by others
        raise


async def durable[T](submit: Callable[[], Future[T]], parked: Callable[[str | None], None], *, large: bool = False) -> T:
    """Submit until it is committed; `parked` hears why a wait is long, and None when it ends.

    Raises what the rules say (Refused, Conflict, Corrupt). Unavailable is never raised:
    the step stays parked while the process lives.
    """
    told = False
    try:
        while True:
            try:
                future = await apart(submit) if large else submit()
                if (answer := _quick(future)) is not _PENDING:
                    return cast(T, answer)
                waiter = answer_of(future)
                done, _ = await asyncio.wait({waiter}, timeout=NOTICE_S)
                if not done:
                    told = True
                    parked("The journal does not answer yet.")
                return await asyncio.shield(waiter)
            except StoreClosed:
                raise  # switched off: nobody will open it again for this step
            except Unavailable as error:
                told = True
                parked(str(error))
                await asyncio.sleep(RETRY_S)
    finally:
        if told:
            parked(None)
