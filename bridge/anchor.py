"""The one process-wide place that outlives a purge of `usr.plugins.*`.

The host drops every module of every user plugin when any of their hook files
changes. What must not be lost with them (the open journal, the undo log, the
sessions of running chats) hangs on a module object of our own name. The stubs in
`extensions/` come through `gate` and nothing else.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .activation import Activation
    from .service import Service

_NAME = "_durable_execution_anchor"


def holder() -> types.ModuleType:
    """Return the module object that carries our state, made once per process."""
    module = sys.modules.get(_NAME)
    if module is None:
        module = types.ModuleType(_NAME, "State of the plugin durable_execution.")
        module.activation = None  # type: ignore[attr-defined]
        module.why_not = None  # type: ignore[attr-defined]
        module.outdated = False  # type: ignore[attr-defined]
        module.booted = False  # type: ignore[attr-defined]
        module.unrecorded = 0  # type: ignore[attr-defined]
        sys.modules[_NAME] = module
    return module


def forget() -> None:
    """Drop the state; for uninstall, after everything was undone."""
    sys.modules.pop(_NAME, None)


def active() -> Activation | None:
    """Return the activation in force, or None while the plugin is off or refused."""
    return holder().activation  # type: ignore[no-any-return]


def service() -> Service | None:
    """Return the door for the panel, or None while nothing is active."""
    activation = active()
    return activation.service if activation else None


def status() -> dict[str, Any]:
    """Return what the panel's status call shows, also while nothing is active."""
    from . import lifecycle

    return lifecycle.status()


def gate(event: str, data: dict[str, Any] | None = None, **facts: Any) -> Any:
    """Hand a hook of a synchronous host function on: dispatch, guard or pass."""
    from . import dispatcher

    return dispatcher.dispatch(event, data, facts)


async def gate_async(event: str, data: dict[str, Any] | None = None, **facts: Any) -> Any:
    """Hand a hook of an asynchronous host function on: dispatch, guard or pass."""
    from . import dispatcher

    answer = dispatcher.dispatch(event, data, facts)
    return await answer if isinstance(answer, Awaitable) else answer
