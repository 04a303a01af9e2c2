"""The one switchboard behind all stubs: event name to handler.

Active: the handler of the code that the activation was made from, also after a purge or
an update, so that a running turn is never recorded by two versions. Enabled and not
active: the guard. Off: nothing.
An error of ours before an effect leaves the host's loop silently and fails closed;
it is written to the host's log with its cause, never into a model's history.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError
from . import admission, anchor, banners, guard, lifecycle, messages, model_calls, notify, tool_calls, turns

if TYPE_CHECKING:
    from .activation import Activation

Handler = Callable[["Activation", dict[str, Any], dict[str, Any]], Any]


def _data(function: Callable[..., Any]) -> Handler:
    return lambda active, data, facts: function(active, data)


def _agent(function: Callable[..., Any]) -> Handler:
    return lambda active, data, facts: function(active, facts["agent"])


def _both(function: Callable[..., Any]) -> Handler:
    return lambda active, data, facts: function(active, facts["agent"], data)


HANDLERS: dict[str, Handler] = {
    "communicate.start": _data(admission.communicate_start),
    "communicate.end": _data(admission.communicate_end),
    "nudge.start": _data(admission.nudge_start),
    "nudge.end": _data(admission.nudge_end),
    "kill.start": _data(admission.kill_start),
    "reset.start": _data(admission.reset_start),
    "reset.end": _data(admission.reset_end),
    "remove.start": _data(admission.remove_start),
    "chain.start": _data(turns.chain_start),
    "chain.end": _data(turns.chain_end),
    "monologue.start": _data(turns.monologue_start),
    "step.start": _agent(turns.step_start),
    "model.turn": _agent(model_calls.turn_start),
    "model.start": _data(model_calls.call_start),
    "model.end": _data(model_calls.call_end),
    "tool.before": _agent(tool_calls.before),
    "user_message.start": _both(messages.user_message_start),
    "user_message.end": _both(messages.user_message_end),
    "intervention.start": _agent(messages.intervention_start),
    "exception.start": _both(messages.exception_start),
}
LIFECYCLE: dict[str, Callable[[dict[str, Any]], None]] = {
    "host.starting": lifecycle.host_starting,
    "host.chats_loaded": lifecycle.chats_loaded,
    "host.up": lifecycle.host_up,
    "host.tick": lifecycle.tick,
    "toggle.start": lifecycle.toggle_start,
    "toggle.end": lifecycle.toggle_end,
    "plugins.changed": lifecycle.plugins_changed,
    "plugin.leaving": lifecycle.plugin_leaving,
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
    if not active.is_on:
        return lifecycle.switched_off_by_hand()
    if lifecycle.is_outdated() and guard.is_new_work(event, payload, active.sessions):
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
