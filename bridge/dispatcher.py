"""The one switchboard behind all stubs: who answers to an event.

Active: the handler of the code that the activation was made from, also after a purge or
an update, so that a running turn is never recorded by two versions. Enabled and not
active: the guard. Off: nothing.
An error of ours before an effect leaves the host's loop silently and fails closed;
it is written to the host's log with its cause, never into a model's history.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from ..journal.errors import JournalError
from . import anchor, banners, edition, guard, lifecycle, notify, switch

LIFECYCLE: dict[str, Callable[[dict[str, Any]], None]] = {
    "host.starting": lifecycle.host_starting,
    "host.chats_loaded": lifecycle.chats_loaded,
    "host.up": lifecycle.host_up,
    "host.tick": switch.tick,
    "toggle.start": switch.toggle_start,
    "toggle.end": switch.toggle_end,
    "toggle.answered": switch.toggle_answered,
    "plugins.changing": switch.plugins_changing,
    "plugins.changed": switch.plugins_changed,
    "plugin.leaving": switch.plugin_leaving,
    "host.banners": banners.show,
}


def dispatch(event: str, data: dict[str, Any] | None, facts: dict[str, Any]) -> Any:
    """Hand one event to its handler; see the module's first lines for who that is."""
    payload: dict[str, Any] = {} if data is None else data
    if event in LIFECYCLE:
        return LIFECYCLE[event](payload)
    active = anchor.active()
    if active is None and event in guard.FIRST_USE:
        active = lifecycle.activate_if_due()
    if active is None:
        return guard.check(event, payload)
    if not (active.is_on if event in guard.TURN_EVENTS else active.was_on_just_now):
        return lifecycle.switched_off_by_hand()
    if edition.is_outdated() and guard.is_new_work(event, payload, active.sessions):
        return None
    try:
        answer = active.handlers[event](active, payload, facts)
    except Exception as error:
        raise _silent(event, error) from error
    return _watched(event, answer) if isinstance(answer, Awaitable) else answer


async def _watched(event: str, answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except Exception as error:
        raise _silent(event, error) from error


def _silent(event: str, error: Exception) -> Exception:
    """The error as the host's loop may see it: its own classes pass, ours end the turn without a retry."""
    from helpers.errors import HandledException, InterventionException, RepairableException

    passing: tuple[type[Exception], ...] = (HandledException, InterventionException, RepairableException)
    if isinstance(error, passing):
        return error
    if not isinstance(error, JournalError):
        places = traceback.format_tb(error.__traceback__)  # not the error's own words: they may quote the run
        notify.write(f"{event} failed: {type(error).__name__}\n{''.join(places)}")
    return notify.stopped(f"Durable Execution stopped this turn before its next step: {_words(error)}")


def _words(error: Exception) -> str:
    """The journal's own sentences are for people; another error's may quote what the run contains."""
    return str(error) if isinstance(error, JournalError) else type(error).__name__
