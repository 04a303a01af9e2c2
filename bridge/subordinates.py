"""A subordinate at work for its superior: what it does is recorded step by step, and its answer goes up exactly once.

An open call of a subordinate is never unknown itself, its open steps are. While its superior's coroutine lives, the
call returns as any other does. After a restart, a nudge or a message the host starts at the deepest agent and hands its
answer up: here the call gets its result then. It must never start an agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..journal.records import Call, CallKey, CallKind, Outcome
from . import agents, outcomes
from .bindings import bound
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

NOT_MADE = "This turn was interrupted here. {count} more calls of the same answer were not made: ask again for what is still needed."


async def work(session: Session, tool: Any, call: Call, execute: Callable[..., Awaitable[Any]], kwargs: dict[str, Any]) -> Any:
    """Let the subordinate work, or work again from its records."""
    binding, number = bound.get(), tool.agent.number
    session.position.descend(call.key)
    try:
        response = await execute(**kwargs)
    except Exception as error:
        if binding is not None and binding.is_current:  # else a person ended it, and the call goes on elsewhere or not at all
            session.position.ascend(number)
            await session.close(call, outcomes.describe(error), Outcome.ERROR)
        raise
    session.position.ascend(number)
    await session.close(call, _value(response.message, response.additional))
    return response


def _value(message: Any, additional: Any = None) -> dict[str, Any]:
    servable = isinstance(message, str) and (additional is None or isinstance(additional, dict))
    return {"message": message, "break_loop": False, "additional": additional, "servable": servable}


async def hand_up(active: Activation, session: Session, superior: Any, data: dict[str, Any]) -> None:
    """The host is about to give a subordinate's answer to its superior, whose own coroutine is gone."""
    position = session.position
    path = position.paths.get(superior.number + 1)
    divided = position.asked.get(position.paths.get(superior.number, ""), 0)
    position.ascend(superior.number)
    call = _opening_call(active, session, path)
    if call is None:
        return  # a message had reached the subordinate itself: nobody above waits in this run
    if call.outcome is None:
        await session.close(call, _value(data["args"][2]))
    elif isinstance(call.value, dict) and isinstance(call.value.get("message"), str):
        data["args"] = (*data["args"][:2], call.value["message"], *data["args"][3:])
    elif call.outcome is Outcome.CONFIRMED:
        data["args"] = (*data["args"][:2], str(call.value), *data["args"][3:])
    _leave_as_the_call_would(superior, str(data["args"][2]))
    said = _answer_of(active, session, call.key)
    if said:
        position.last_said[superior.number] = said
    if divided > call.key.ordinal + 1:
        note = superior.parse_prompt("fw.warning.md", message=NOT_MADE.format(count=divided - call.key.ordinal - 1))
        superior.hist_add_message(False, content=note)


def _opening_call(active: Activation, session: Session, path: str | None) -> Call | None:
    key = agents.opened_by(path) if path is not None else None
    return None if key is None else _at(active, session, key)


def _answer_of(active: Activation, session: Session, key: CallKey) -> str:
    """The answer that asked for this call: the host compares the next one with it."""
    asked_by = _at(active, session, CallKey(key.path, key.step, CallKind.MODEL))
    value = asked_by.value if asked_by is not None else None
    return str(value.get("response", "")) if isinstance(value, dict) else ""


def _at(active: Activation, session: Session, key: CallKey) -> Call | None:
    found = (call for call in active.journal.calls(session.run.run_id) if call.key == key and not call.abandoned)
    return next(found, None)


def _leave_as_the_call_would(superior: Any, text: str) -> None:
    """What the call does after its subordinate's answer, and the host's own way up does not."""
    from helpers import history

    superior.data["_subordinate"].history.new_topic()
    # the answer that asked for the call has no result by the provider's own count, where the provider keeps the history
    history.clear_responses_provider_state(superior)
    for item in reversed(superior.context.log.logs):
        if item.type == "subagent" and item.agentno == superior.number:
            item.update(content=text)
            break
