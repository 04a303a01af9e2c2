"""The one process-wide place that outlives a purge of `usr.plugins.*`.

The host drops every module of every user plugin when any of their hook files
changes. What must not be lost with them (the open journal, the undo log, the
sessions of running chats) hangs on a module object of our own name. The stubs come
through here and nowhere else: hooks and tools by `gate` and `gate_async`, the API by `service` and `status`.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .activation import Activation
    from .service import Service
    from .undo import UndoLog

_NAME = "_durable_execution_anchor"


class Holder(types.ModuleType):
    """What outlives a purge. Its class may be of an older copy of this file: only attributes are used."""

    def __init__(self) -> None:
        super().__init__(_NAME, "State of the plugin durable_execution.")
        self.activation: Activation | None = None
        self.why_not: dict[str, Any] | None = None
        self.outdated = False  # the files on disk are not the code in memory
        self.unreadable = ""  # why the journal cannot even be looked at
        self.ready: list[Any] = []  # sessions that wait for the web server
        self.guard_task: Any = None
        self.left_on: UndoLog | None = None  # wrappers of ours below those of another plugin
        self.lock = threading.RLock()  # on and off, one at a time: a toggle is seen by several threads


def holder() -> Holder:
    """Return the module object that carries our state, made once per process."""
    module: Any = sys.modules.get(_NAME)
    if module is None:
        module = sys.modules[_NAME] = Holder()
    found: Holder = module
    return found


def forget() -> None:
    """Drop the state; for uninstall, after everything was undone."""
    sys.modules.pop(_NAME, None)


def active() -> Activation | None:
    """Return the activation in force, or None while the plugin is off or refused."""
    return holder().activation


def service() -> Service | None:
    """Return the door for the panel, or None while nothing is active."""
    activation = active()
    if activation is None:
        return None
    if not activation.is_on:  # by hand: the host's hooks may not have told us
        from . import lifecycle

        lifecycle.switched_off_by_hand()
        return None
    return activation.service


def status() -> dict[str, Any]:
    """Return what the panel's status call shows, also while nothing is active."""
    from . import lifecycle

    return lifecycle.status()


def gate(event: str, data: dict[str, Any] | None = None, **facts: Any) -> Any:
    """Hand a hook of a synchronous host function on: dispatch, guard or pass."""
    try:
        from .dispatcher import dispatch
    except Exception as error:  # a half updated plugin: the host must come up, its chats stay closed
        if not event.startswith("host."):
            raise
        sys.stderr.write(f"Durable Execution could not be loaded: {type(error).__name__}. Update or remove the plugin.\n")
        return None
    return dispatch(event, data, facts)


async def gate_async(event: str, data: dict[str, Any] | None = None, **facts: Any) -> Any:
    """Hand a hook of an asynchronous host function on: dispatch, guard or pass."""
    from .dispatcher import dispatch

    answer = dispatch(event, data, facts)
    return await answer if isinstance(answer, Awaitable) else answer
