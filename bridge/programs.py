"""Programs that ask for a turn and wait for its answer: MCP and A2A callers, and requests with a key of their own.

A program's background chat is taken away by the host when the program has its answer, which is nobody's Stop. A program
that is gone after a restart gets no turn that nobody asked for: the run waits for a person.
"""

from __future__ import annotations

import json
import threading
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..journal.records import CALLER_GONE, Hold, HoldReason, Run

if TYPE_CHECKING:
    from ..journal.service import Journal
    from .session import Session

BACKGROUND = "background"
_KEY, _MOST_KEY = "Idempotency-Key", 255
_ROUTE, _TICK = "/api_message", "/scheduler_tick"
_END_S = 30.0

waiting_for: ContextVar[str] = ContextVar("durable_execution_waiting_for", default="")


# -- background chats ------------------------------------------------------------------------


def is_background(ctx: Any) -> bool:
    return bool(ctx.type.value == BACKGROUND)


def waits_here(ctx: Any) -> None:
    """This coroutine of the host asked for the turn; what it does to a background chat afterwards is its cleaning up."""
    if is_background(ctx):
        waiting_for.set(ctx.id)


def is_cleaning_up(session: Session | None) -> bool:
    """The caller got an answer that is not the run's end, and takes its chat away: the run stays, its caller is gone."""
    if session is None or waiting_for.get() != session.chat_id:
        return False
    session.caller_gone = True
    return True


def hold_if_gone(journal: Journal, run: Run, why: Hold | None) -> Hold | None:
    """What a restart makes of a run of a background chat: a person is asked once whether it still is to go on."""
    if journal.was_released(run.run_id):
        return why
    if why is None:
        return Hold(HoldReason.ASK, facts={CALLER_GONE: True}, since=journal.clock.now())
    return Hold(why.reason, why.call_id, why.text, {**why.facts, CALLER_GONE: True}, why.since)


def take_away(session: Session) -> None:
    """The run has ended and nobody will fetch its chat: do what the caller would have done."""
    threading.Thread(target=_take_away, args=(session.context(),), name="durable-take-away", daemon=True).start()


def _take_away(ctx: Any) -> None:
    from agent import AgentContext

    deadline = time.monotonic() + _END_S
    while ctx is not None and ctx.is_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    if ctx is not None and AgentContext.get(ctx.id) is ctx:
        AgentContext.remove(ctx.id)


# -- requests with a key ---------------------------------------------------------------------


def key_of_request() -> str:
    """The key of the request to the external API that is being answered here, or nothing."""
    from flask import has_request_context, request

    if not has_request_context() or not request.path.endswith(_ROUTE):
        return ""
    return str(request.headers.get(_KEY, "")).strip()


def is_tick_of_request() -> bool:
    """Whether another program's clock makes the scheduler look for what is due."""
    from flask import has_request_context, request

    return bool(has_request_context() and request.path.endswith(_TICK))


def is_too_long(key: str) -> bool:
    return len(key) > _MOST_KEY


def names_chat() -> bool:
    """Whether the request says in which chat; without, the host made a new one for it."""
    from flask import request

    body = request.get_json(silent=True)
    return bool(isinstance(body, dict) and body.get("context_id"))


def refuse(status: int, text: str) -> None:
    """Give the request the status that programs expect; the host has none for what we answer."""
    from flask import after_this_request

    @after_this_request
    def refused(response: Any) -> Any:
        response.status_code, response.mimetype = status, "application/json"
        response.set_data(json.dumps({"error": text}))
        return response


def answer_for(chat_id: str) -> None:
    """The answer is another chat's: say so, as the first answer did."""
    from flask import after_this_request

    @after_this_request
    def named(response: Any) -> Any:
        body = response.get_json(silent=True)
        if isinstance(body, dict) and "context_id" in body:
            response.set_data(json.dumps({**body, "context_id": chat_id}))
        return response


def drop_empty(ctx: Any) -> None:
    """The chat that the host made for a request that was answered already, or refused."""
    from agent import AgentContext
    from helpers import persist_chat

    AgentContext.remove(ctx.id)
    persist_chat.remove_chat(ctx.id)
