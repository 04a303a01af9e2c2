"""Event name to handler, for everything that happens inside a turn or to a chat.

An activation keeps the table of the code that it was made from: a purge or an update
must not bring a second copy of our classes into a running turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import admission, background, documents, messages, model_calls, occurrences, persons, tool_calls, turns, workers

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
    "host.chat_made": _data(workers.context_start),
    "communicate.start": _data(admission.communicate_start),
    "communicate.end": _data(admission.communicate_end),
    "nudge.start": _data(persons.nudge_start),
    "nudge.end": _data(persons.nudge_end),
    "kill.start": _data(persons.kill_start),
    "reset.start": _data(persons.reset_start),
    "reset.end": _data(persons.reset_end),
    "remove.start": _data(persons.remove_start),
    "chain.start": _data(turns.chain_start),
    "chain.end": _data(turns.chain_end),
    "monologue.start": _data(occurrences.monologue_start),
    "monologue.end": _data(occurrences.monologue_end),
    "step.start": _agent(turns.step_start),
    "model.turn": _agent(model_calls.turn_start),
    "model.start": _data(model_calls.call_start),
    "model.end": _data(model_calls.call_end),
    "background.start": _data(background.call_start),
    "background.end": _data(background.call_end),
    "tool.before": _agent(tool_calls.before),
    "document.tool": lambda active, data, facts: documents.tool(active, facts),
    "user_message.start": _both(occurrences.user_message_start),
    "user_message.end": _both(messages.user_message_end),
    "intervention.start": _agent(messages.intervention_start),
    "exception.start": _both(messages.exception_start),
}
