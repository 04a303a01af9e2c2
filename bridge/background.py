"""Background inference of a turn: recorded beside its steps, answered from the record after a crash (`journal/background.py`).

It runs beside the loop and must never hold it up, change its order or fail it: what cannot be recorded is asked unrecorded.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..journal.background import Purpose
from ..journal.errors import JournalError
from ..journal.records import Call, Dropped, Outcome, Proceed, Serve
from . import purposes, spending, waiting
from .agents import ROOT_PATH
from .bindings import bound
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

_KEY = "_durable_background"
_PATIENCE_S = 2.0


async def call_start(active: Activation, data: dict[str, Any]) -> None:
    """Record the intent before the request goes out; or give the recorded answer, or none where it was asked for already."""
    binding = bound.get()
    if binding is None or binding.session.activation is not active:
        return
    session, asked = binding.session, purposes.of_caller()
    if asked.agent is not None and asked.agent.context.id != session.chat_id:
        return  # another chat, begun from within this turn
    purpose = _placed(session, asked)
    if purpose.name == purposes.SAVES_ITS_CHAT and asked.agent is not None:
        data[_KEY + "_saves"] = asked.agent.context
    if binding.generation != session.generation and session.is_unfinished:  # of a coroutine that was replaced
        _drop(purpose, data)
        return
    match await _begin(active, session, purpose, data):
        case Proceed(call):
            data[_KEY] = call
        case Serve(call) if isinstance(call.value, dict):
            await _serve(call, data)
        case Dropped():
            _drop(purpose, data)


def _placed(session: Session, asked: purposes.Asked) -> Purpose:
    """The purpose for this agent; what it acts on, for this step of it."""
    path = (session.position.path_of(asked.agent) if asked.agent is not None else None) or ROOT_PATH
    return replace(asked.purpose, path=path, step=0 if asked.purpose.served else session.position.step_of(path))


async def _begin(active: Activation, session: Session, purpose: Purpose, data: dict[str, Any]) -> Proceed | Serve | Dropped | None:
    """None: the journal does not answer, and nobody waits for it here."""
    texts = _question(data)
    same = hashlib.sha256("\0".join(map(str, texts)).encode("utf-8", "surrogatepass")).hexdigest()
    ordinal = 0 if purpose.once else session.questions.get((purpose.name, same), 0)
    session.questions[purpose.name, same] = ordinal + 1
    name = str(getattr(data["args"][0], "model_name", "") or "model")
    facts = {"characters": sum(map(len, texts))}

    def submit() -> Future[Proceed | Serve | Dropped]:
        return active.journal.begin_background(session.run.run_id, purpose, texts, name=name, facts=facts, ordinal=ordinal)

    data[_KEY + "_size"] = facts["characters"]
    return await _patient(submit, texts)


def _question(data: dict[str, Any]) -> list[str]:
    """All that is asked, however it was handed over: two questions that look alike here would get one answer."""
    given = dict(zip(("system_message", "user_message", "messages"), data["args"][1:], strict=False)) | data["kwargs"]
    said = [given.get("system_message") or "", given.get("user_message") or ""]
    said += [f"{getattr(message, 'type', '')}: {getattr(message, 'content', message)}" for message in given.get("messages") or []]
    return [str(each) for each in said]


async def _patient[T](submit: Any, *values: Any) -> T | None:
    """The commit's answer, without holding the loop; None where the journal says no or does not answer in time.

    A thread of its own costs more than to mask and encode what is not large.
    """
    try:
        future: Future[T] = await waiting.apart(submit) if waiting.is_large(*values) else submit()
        return await waiting.answered(future, _PATIENCE_S)
    except (JournalError, TimeoutError):
        return None


def _drop(purpose: Purpose, data: dict[str, Any]) -> None:
    """A purpose that is served once a run gets no second answer; whatever else is asked, the host needs."""
    if purpose.once:
        data["result"] = ("", "")


async def _serve(call: Call, data: dict[str, Any]) -> None:
    response, reasoning = str(call.value.get("response", "")), str(call.value.get("reasoning", ""))
    for callback, text in (("reasoning_callback", reasoning), ("response_callback", response)):
        if text and data["kwargs"].get(callback):
            await data["kwargs"][callback](text, text)
    data["result"] = (response, reasoning)


async def call_end(active: Activation, data: dict[str, Any]) -> None:
    """Save the answer. Nothing here may raise: it was paid for."""
    call: Call | None = data.get(_KEY)
    if call is not None:
        await _save(active, call, data)
    ctx = data.get(_KEY + "_saves")
    if ctx is not None and data["exception"] is None and _is_gone(ctx):
        data["result"] = ("", "")


def _is_gone(ctx: Any) -> bool:
    """A person deleted the chat while it was asked for a name, or it was made anew: the host would write it to its file again."""
    from agent import AgentContext

    return AgentContext.get(ctx.id) is not ctx


async def _save(active: Activation, call: Call, data: dict[str, Any]) -> None:
    error = data["exception"]
    if error is None:
        response, reasoning = data["result"]
        value: Any = {"response": response, "reasoning": reasoning}
        usage = spending.estimated(data[_KEY + "_size"], response + reasoning)
        outcome, text = Outcome.OK, ""
    else:
        outcome, value, usage, text = Outcome.ERROR, None, None, type(error).__name__
    await _patient(lambda: active.journal.finish_background(call.call_id, outcome, value, error=text, usage=usage), value)
