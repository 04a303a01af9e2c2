"""How a hook waits for a commit, and what happens while it cannot be had.

On the host's one shared event loop a real suspension lets every other ready task run
first and costs far more than the commit. So a hook blocks for a few milliseconds and
only then yields. A store that is locked or full parks the step: it waits here, says
why, and tries again; nothing is raised into the host's loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import cast

from ..journal.errors import CommitTimeout, StoreClosed, TakenBack, Unavailable

BLOCK_S = 0.005
SYNC_S = 1.0
LOOP_SYNC_S = 0.05
NOTICE_S = 3.0
RETRY_S = 0.5
PATIENT_S = 30.0  # outside the host's loop, where a person waits

_PENDING = object()


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


async def durable[T](submit: Callable[[], Future[T]], parked: Callable[[str | None], None]) -> T:
    """Submit until it is committed; `parked` hears why a wait is long, and None when it ends.

    Raises what the rules say (Refused, Conflict, Corrupt). Unavailable is never raised:
    the step stays parked while the process lives.
    """
    told = False
    try:
        while True:
            try:
                future = submit()
                if (answer := _quick(future)) is not _PENDING:
                    return cast(T, answer)
                waiter = asyncio.wrap_future(future)
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
