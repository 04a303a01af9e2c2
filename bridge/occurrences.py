"""A scheduled turn as a run. It does not come through `communicate` and is not its chat's own task.

It is taken in where the host adds its message, bound to the coroutine that does so, and closed at the end of the loop.
A run that must wait leaves that coroutine, so that the task is idle and later occurrences run; it goes on in one of its own.
An occurrence whose chat has an unfinished turn gets a chat of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError
from . import beginnings, messages, notify, paths, programs, tasks, turns
from .bindings import Binding, bound
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation
    from .tasks import Occurrence

_THREAD = "TaskScheduler"
_AGAIN_S = 0.5
_START_S = 60.0
CANCELLED = "The scheduled task was cancelled while it ran. What it did so far is recorded."
RUN_BEFORE = "This occurrence of the task was already taken in. It was not started again."
NOT_RECORDED = "The scheduled task was not started: it could not be recorded."
ELSEWHERE = "This chat has an unfinished turn. The scheduled task runs in a chat of its own: {name}"

elsewhere: ContextVar[Any] = ContextVar("durable_execution_elsewhere", default=None)


def user_message_start(active: Activation, agent: Any, data: dict[str, Any]) -> None:
    """A message that begins a scheduled turn is taken in here; every other one is as before."""
    message, intervention = messages.arguments(data)
    if not intervention and _enters(agent):
        _take_in(active, agent, message, data)
        if elsewhere.get() is not None:
            return
    messages.user_message_start(active, agent, data)


def _enters(agent: Any) -> bool:
    """Whether this message begins a turn of the host's scheduler, and not one inside a turn that is bound already."""
    if threading.current_thread().name != _THREAD:
        return False
    binding = bound.get()
    return binding is None or binding.session.handle is not asyncio.current_task()


def _take_in(active: Activation, agent: Any, message: Any, data: dict[str, Any]) -> None:
    """Admit the turn and bind it to this coroutine, or leave the coroutine without an error."""
    # the coroutine is a copy of the context that launched it: the job loop's, a request's, or a turn's whose tool launches tasks
    by_clock = bound.get() is None and (active.by_clock.get() or programs.is_tick_of_request())
    found = tasks.of_message(active, agent.context.id, message, by_clock=by_clock)
    if found is None or (agent.context.id not in active.sessions and not paths.is_switched_on_for(agent)):
        return  # no task of the list, or not wanted here: it passes unrecorded
    task, occurrence = found
    shown = next((item for item in reversed(agent.context.log.logs) if item.id == message.id), None)
    message.id = occurrence.input_id
    if shown is not None:
        shown.id = message.id  # before the first resume point: a rebuilt chat must not draw it again
    try:
        session = _admitted(active, agent.context, task, occurrence, message)
    except JournalError as error:
        notify.warn(agent.context, "Not started", f"{NOT_RECORDED} {error}", occurrence.input_id)
        raise asyncio.CancelledError from error
    if session is None:
        if shown is not None:
            shown.update(type="info", heading="Not started again", content=RUN_BEFORE)
        raise asyncio.CancelledError
    if active.suspension is not None:
        beginnings.begin_after_restart(active, session)
        raise asyncio.CancelledError
    _bind(active, session)
    ctx = session.context()
    if ctx is agent.context:
        return
    notify.bubble(ctx, message.id, message.message, message.attachments)
    if shown is not None:
        shown.update(type="info", heading="Runs elsewhere", content=ELSEWHERE.format(name=ctx.name))
    elsewhere.set((agent.context.id, ctx, message))
    data["result"] = None  # nothing of it goes into the history of the task's chat


def _admitted(active: Activation, ctx: Any, task: Any, occurrence: Occurrence, message: Any) -> Session | None:
    with active.chat_lock(ctx.id):
        if tasks.is_recorded(active, ctx.id, occurrence):
            return None
        if ctx.id in active.sessions or ctx.is_running() or ctx.get_agent().number != 0:
            ctx = _own_chat(ctx, occurrence)
        facts = {tasks.TASK: task.uuid}
        return beginnings.begin(active, ctx, occurrence.input_id, beginnings.content_of(message), title=task.name, facts=facts)


def _own_chat(ctx: Any, occurrence: Occurrence) -> Any:
    """A chat for one occurrence, with the profile and the project of the task's chat."""
    from agent import AgentContext
    from helpers import persist_chat
    from initialize import initialize_agent

    config = initialize_agent(override_settings={"agent_profile": ctx.agent0.config.profile})
    own = AgentContext(config=config, id=occurrence.own_chat, name=f"{occurrence.name} ({occurrence.at[:16]})")
    for part in ("data", "output_data"):
        if "project" in getattr(ctx, part):
            getattr(own, part)["project"] = getattr(ctx, part)["project"]
    persist_chat.save_tmp_chat(own)
    return own


def _bind(active: Activation, session: Session) -> None:
    handle = asyncio.current_task()
    assert handle is not None
    session.handle = handle
    bound.set(Binding(session, session.generation))
    handle.add_done_callback(partial(_ended, active, session, session.generation))


def _ended(active: Activation, session: Session, generation: int, handle: Any) -> None:
    """The host's coroutine is over. The scheduler's loop, which calls this, waits neither for the chat nor for the journal."""
    if not _has_left(active, session, generation):
        arguments = (active, session, generation)
        threading.Thread(target=_hold_lost, args=arguments, name="durable-lost-task", daemon=True).start()


def _has_left(active: Activation, session: Session, generation: int) -> bool:
    return active.closed or session.phase is not Phase.RUNNING or session.generation != generation


def _hold_lost(active: Activation, session: Session, generation: int) -> None:
    """The host cancelled its coroutine in the middle: that ends no run (I3). Tried until the journal answers."""
    while True:
        with active.chat_lock(session.chat_id):
            if _has_left(active, session, generation):
                return
            with contextlib.suppress(JournalError):
                session.lost_its_task(CANCELLED)
                return
        time.sleep(_AGAIN_S)


# -- the loop --------------------------------------------------------------------------------


async def monologue_start(active: Activation, data: dict[str, Any]) -> None:
    """The fence at the door of the loop; a scheduled turn closes its run where its outermost loop ends."""
    agent = data["args"][0]
    if await _run_elsewhere(agent, data):
        return
    turns.monologue_start(active, data)
    binding = bound.get()
    if binding is None or not binding.is_current or agent is not agent.context.agent0:
        return
    session = binding.session
    if session.chat_id == agent.context.id and session.handle is not None and session.handle is asyncio.current_task():
        data["_durable_closes"] = binding
        await _until_host_is_up(active)


async def _until_host_is_up(active: Activation) -> None:
    """A task may be due at the start. It is taken in, and works once the host has begun to watch its files (`launching.py` says why)."""
    deadline = time.monotonic() + _START_S
    while not (active.is_host_up or active.live or active.closed) and time.monotonic() < deadline:
        await asyncio.sleep(_AGAIN_S)


async def _run_elsewhere(agent: Any, data: dict[str, Any]) -> bool:
    """Run the turn in its own chat, as the answer of the loop that the host began in the task's chat."""
    away = elsewhere.get()
    if away is None or away[0] != agent.context.id:
        return False
    from agent import AgentContext
    from helpers import persist_chat

    _, ctx, message = away
    elsewhere.set(None)
    AgentContext.set_current(ctx.id)
    try:
        ctx.agent0.hist_add_user_message(message)
        persist_chat.save_tmp_chat(ctx)
        data["result"] = await ctx.agent0.monologue()
        persist_chat.save_tmp_chat(ctx)
    except Exception as error:  # the host's own coroutine handles it, as it would one of its loop
        data["exception"] = error
    return True


async def monologue_end(active: Activation, data: dict[str, Any]) -> None:
    """Close the run where the host's own coroutine ends its loop; the host notes the result itself."""
    binding: Binding | None = data.get("_durable_closes")
    if binding is None or not binding.is_current or not active.is_on:
        return
    binding.session.handle = None
    await turns.close(active, binding.session, data["result"], data["exception"])
