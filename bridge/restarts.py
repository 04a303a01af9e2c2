"""The ends of the process that announce themselves: SIGTERM, SIGINT, and the host's own restart.

The web server ends on a signal by its own `shutdown`, which is the one place where its end can be delayed: there
everything is put aside first, with a limit. No signal handler is replaced, so a second signal and a kill work as ever.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from typing import TYPE_CHECKING, Any

from . import anchor, suspension

if TYPE_CHECKING:
    from .activation import Activation

BY_SIGNAL, BY_HOST = "the end of the server", "a restart of Agent Zero"
_LOOK_S = 0.02


def watch(active: Activation) -> None:
    """Stand before the end of the web server, from its making on or from the switch on; one that works differently is left alone."""
    from helpers import process

    server = getattr(process.get_server(None), "_server", None)
    if server is None or not inspect.iscoroutinefunction(getattr(type(server), "shutdown", None)):
        return
    with anchor.holder().lock:  # not beside a switch
        if not active.closed and not active.undo.holds(server, "shutdown"):
            active.undo.shadow(server, "shutdown", _delayed(server), "the end of the web server")


def _delayed(server: Any) -> Any:
    original = server.shutdown

    @functools.wraps(original)
    async def shutdown(*args: Any, **kwargs: Any) -> Any:
        await _put_aside_first(server)
        return await original(*args, **kwargs)

    return shutdown


async def _put_aside_first(server: Any) -> None:
    """Requests are still answered meanwhile, on other threads. One more signal ends the grace period."""
    active = anchor.active()
    if active is None or not active.is_on:
        return
    now = suspension.begin(active, BY_SIGNAL)
    signals = _signals(server)
    while not now.settled.is_set() and time.monotonic() < now.deadline + suspension.MARGIN_S:
        if _signals(server) > signals:
            now.hurry.set()
        await asyncio.sleep(_LOOK_S)


def _signals(server: Any) -> int:
    return len(getattr(server, "_captured_signals", ()))


def before_restart() -> None:
    """The host is about to start over, in the thread of the request that asked for it."""
    active = anchor.active()
    if active is not None and active.is_on:
        suspension.begin(active, BY_HOST).wait()
