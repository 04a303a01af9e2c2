"""A reply through an integration: a call of kind `delivery` around the host's own sender (ADR 0019).

Its intent is durable before the sender runs, its result before the host acts on it, and a turn that still sends is not over.
Nothing here sends; what proves nothing is never sent again without a person (I3).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..journal.records import Call, Outcome, Permission, Serve
from . import notify, outcomes, paths, senders
from .bindings import Binding, bound
from .senders import SENDERS, Sender
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

_UP_S = 60.0  # so long after a restart the host's own part of an integration may take
_LOOK_S = 0.5
_WHY = "{error} instead of an answer. {via} may have delivered this reply, or a part of it."

_heard: ContextVar[list[Exception] | None] = ContextVar("durable_execution_heard", default=None)  # set while a sender runs
_refused: ContextVar[Call | None] = ContextVar("durable_execution_refused", default=None)  # a recorded refusal, given back


async def deliver(active: Activation, name: str, original: Callable[..., Awaitable[Any]], ctx: Any, text: str, *rest: Any) -> Any:
    """Send this reply once, or give back what is recorded of it. A sender inside a sender is a part of that one."""
    session = _session(active, ctx)
    if session is None or _heard.get() is not None:
        return await original(ctx, text, *rest)
    sender = SENDERS[name]
    key = session.sends.key(sender)
    if (first := session.sends.made.get(key.text)) is not None:
        await asyncio.wait({first})
        return sender.sent
    ended = session.sends.made[key.text] = asyncio.get_running_loop().create_future()
    try:
        if session.resumed and key.text not in session.recorded:
            await _let_come_up(sender, ctx)
        return await _delivered(active, session, sender, key, lambda: original(ctx, text, *rest), ctx, text, rest)
    finally:
        ended.set_result(None)


def _session(active: Activation, ctx: Any) -> Session | None:
    """The run that this reply belongs to. A coroutine that was replaced sends nothing (fencing)."""
    binding = bound.get()
    if binding is None or binding.session.chat_id != ctx.id or not active.is_on:
        return None
    if not binding.is_current:
        raise notify.stopped("This turn was replaced by a newer one.")
    return binding.session


async def _let_come_up(sender: Sender, ctx: Any) -> None:
    """Nothing was begun yet: a reply that is due after a restart waits for the part of the integration that sends it."""
    deadline = time.monotonic() + _UP_S
    while not await senders.is_up(sender.mark, ctx) and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)


async def _delivered(
    active: Activation, session: Session, sender: Sender, key: Any, send: Callable[[], Awaitable[Any]], ctx: Any, text: str, rest: Any
) -> Any:
    asked = {"to": sender.recipient(ctx), "via": sender.via, "text": text, "attachments": list((rest and rest[0]) or [])}
    while True:
        step = await session.begin(
            key,
            name=sender.name,
            identity_of={"name": sender.name, **asked},
            arguments=asked,
            permission=Permission(),
            unservable=lambda call: "",
        )
        if isinstance(step, Serve):
            return _serve(sender, ctx, step.call)
        silent, returned = await _send(active, session, sender, step.call, send)
        if silent is None:
            return returned
        # the host would tell the model, and the model would send again: a person looks first
        await session.hold_open(step.call, _WHY.format(error=silent, via=sender.via))


async def _send(
    active: Activation, session: Session, sender: Sender, call: Call, send: Callable[[], Awaitable[Any]]
) -> tuple[str | None, Any]:
    """Run the host's sender and record what it said; or the name of an error that proves nothing, swallowed ones too."""
    heard: list[Exception] = []
    token = _heard.set(heard)
    try:
        returned = await send()
    except Exception as error:
        if active.is_on and not outcomes.proves_nothing(error):
            await session.finish(call, Outcome.ERROR, outcomes.describe(error), extra={})
        if not active.is_on or not outcomes.proves_nothing(error):
            raise
        heard.append(error)
        returned = None
    finally:
        _heard.reset(token)
    silent = next((error for error in heard if outcomes.proves_nothing(error)), None)
    if silent is not None:  # switched off by hand meanwhile: the call stays unknown, and the host goes on as ever
        return (type(silent).__name__, None) if active.is_on else (None, returned)
    if returned == sender.sent:
        await session.finish(call, Outcome.OK, {"returned": returned, "text": _said(heard)}, extra={})
        if heard and (shown := session.context()) is not None:
            notify.warn(shown, "A part of a reply was not sent", _said(heard), f"durable-part-{call.call_id}")
    else:
        await session.finish(call, Outcome.ERROR, {"returned": returned, "text": str(returned)}, extra={})
    return None, returned


def _said(heard: list[Exception]) -> str:
    """What a person reads of a reply that its integration counts as sent."""
    refused = ", ".join(dict.fromkeys(type(error).__name__ for error in heard))
    return f"Sent, but a part of it was refused: {refused}." if refused else "Sent."


def _serve(sender: Sender, ctx: Any, call: Call) -> Any:
    """Give back what the sender returned then, and leave the chat's data as it left them."""
    value = call.value
    if call.outcome is Outcome.ERROR:
        if "kinds" in value:
            raise outcomes.rebuild(value)
        _refused.set(call)
        return value["returned"]
    for key in sender.gone:
        ctx.data.pop(key, None)
    return sender.sent


# -- what the host swallows ---------------------------------------------------------------------


def hear(error: Exception) -> None:
    """A sender is about to swallow this error. Outside of a reply nobody listens."""
    heard = _heard.get()
    if heard is not None:
        heard.append(error)


def check_silence() -> None:
    """A part of a reply failed, and the host would try it another way: not if the first try may have arrived."""
    for error in _heard.get() or []:
        if outcomes.proves_nothing(error):
            raise error


# -- the end of a turn --------------------------------------------------------------------------


async def settle(binding: Binding) -> None:
    """Wait for what this turn still sends in tasks of its own: a run counts as finished when its replies are recorded."""
    ctx = binding.session.context()
    if ctx is None or not senders.marks(ctx):
        return
    while left := [task for task in asyncio.all_tasks() if _is_reply_of(task, binding)]:
        await asyncio.wait(left)
        for task in left:
            if not task.cancelled() and (error := task.exception()) is not None:
                notify.write(f"A reply was not sent: {type(error).__name__}")


def _is_reply_of(task: asyncio.Task[Any], binding: Binding) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    if code is None or task.done() or task.get_context().get(bound) is not binding:
        return False
    return paths.in_host(code.co_filename) in senders.IN_TASKS


def was_told(active: Activation, msg: Any) -> bool:
    """Whether the model was told already, in an earlier life, that the reply which was just asked for is refused.

    The host tells it with a message that has no words of a person and no id.
    """
    call, told = _refused.get(), False
    if call is not None and not msg.message and msg.system_message:
        _refused.set(None)
        kept = active.journal.inputs(call.run_id)
        told = any(item.seq > call.seq and not item.content["text"] and item.content["system"] for item in kept)
    return told


# -- what is shown while an answer comes --------------------------------------------------------


def preview_of(ctx: Any) -> dict[str, Any]:
    """The outside message in which the answer was shown while it came; kept with the answer, so that no second one is made."""
    shown = ctx.data.get(senders.PREVIEW) if ctx is not None else None
    return {"preview": shown} if shown else {}


def put_preview_back(ctx: Any, call: Call) -> None:
    if call.extra.get("preview"):
        ctx.data[senders.PREVIEW] = call.extra["preview"]
