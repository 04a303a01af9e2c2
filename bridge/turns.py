"""A turn of the host as a run: bound to its coroutine, checkpointed at each loop step, closed at its end.

Calls themselves stand in `model_calls.py` and `tool_calls.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError, NotAllowed, StoreClosed
from ..journal.records import HoldReason, Input, InputState, RunState
from . import deliveries, limits, messages, notify, subordinates, tasks, waiting
from .bindings import Binding, bound, of_agent
from .messages import Message
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

_NEXT_TURN_S = 30.0


async def chain_start(active: Activation, data: dict[str, Any]) -> None:
    """Bind this coroutine to the chat's run. What belongs to no launched run is refused."""
    ctx, agent = data["args"][0], data["args"][1]
    session = active.sessions.get(ctx.id)
    if session is None:
        return
    binding = bound.get()
    if binding is not None and binding.session is session and binding.is_current:
        await subordinates.hand_up(active, session, agent, data)  # the outermost level closes the run
        return
    if session.phase is not Phase.RUNNING or not _is_from_a_person(data):
        data["exception"] = notify.stopped(notify.HELD_ANSWER)
        return
    data["args"] = (ctx, session.position.deepest(ctx), *data["args"][2:])  # never an agent above, which waits for it
    bound.set(Binding(session, session.generation))
    data["_durable_bound"] = bound.get()
    notify.at_work(ctx, session.run)


def _is_from_a_person(data: dict[str, Any]) -> bool:
    """Not the answer of a subordinate, on its way up in a coroutine that was replaced."""
    return bool(data["args"][3] if len(data["args"]) > 3 else data["kwargs"].get("user", True))


async def chain_end(active: Activation, data: dict[str, Any]) -> None:
    """Close the run where the outermost chain ends; the last checkpoint goes with it."""
    binding: Binding | None = data.get("_durable_bound")
    if binding is None or not binding.is_current or not binding.session.activation.is_on:
        return
    await deliveries.settle(binding)
    # a person may have stopped the run while its reply waited for them
    if binding.is_current and await close(active, binding.session, data["result"], data["exception"]):
        await tasks.hand_in_late(binding.session)


async def close(active: Activation, session: Session, result: Any, error: Exception | None) -> bool:
    """The end of a run: its answer or the error that ended it, and the last resume point of its chat, if it has one of its own.

    False: the journal did not take the end, and the run is not over; it waits as the journal says.
    """
    ctx = session.context()
    if ctx is None:
        return True
    generation = session.generation
    state = RunState.COMPLETED if error is None else RunState.FAILED
    answer = str(result) if error is None else str(error) if session.child else f"The turn failed: {error}"
    has_chat = session.child is None or session.child.has_chat
    point = session.projector.project(ctx, session.position.reached(), paths=session.position.paths) if has_chat else None
    delivered = messages.delivered(session, ctx) if has_chat else []
    try:
        left = await waiting.durable(
            lambda: active.journal.close_run(session.run.run_id, session.run.token, state, answer, point, delivered),
            session.note_store,
            large=waiting.is_large(point.nodes if point else answer),
        )
    except JournalError as problem:
        if not await asyncio.to_thread(_has_ended, active, session, generation, problem):
            return False
        session.ended_by = session.ended_by or str(problem)
        left = []
    else:
        if point is not None:
            session.projector.stored(point)
    session.answer, session.error = result, error
    if has_chat:
        active.closing.add(session.chat_id)
    session.end(session.run, "ended", session.ended_by)
    if left and has_chat:
        next_turn(active, ctx, left[0])
    return True


def _has_ended(active: Activation, session: Session, generation: int, problem: JournalError) -> bool:
    """Whether a refused end is none because there is one already. Else the run waits: put aside by another thread, or for a person."""
    if isinstance(problem, StoreClosed):
        return True  # switched off: what is recorded goes on at the next start
    with active.chat_lock(session.chat_id):
        if session.phase is Phase.ENDED:
            return True
        if session.generation != generation:
            return False
        with contextlib.suppress(JournalError, TimeoutError):
            run = active.journal.run(session.run.run_id)
            if run.state.is_final:
                return True
            if run.state is RunState.RUNNING and run.token == session.run.token:  # what was saved of it cannot be read
                run = active.journal.hold_run(run.run_id, HoldReason.CHECKPOINT_CORRUPT, text=str(problem)).result(waiting.PATIENT_S)
            if run.state is RunState.HELD:
                session.fence(run)
                session.fresh = False
                session.wait_for_person(run)
        return False


def next_turn(active: Activation, ctx: Any, kept: Input) -> None:
    """A message that came too late for its turn becomes the next one; the host would lose it. Not in a chat that is deleted meanwhile."""
    active.next_turns.add(ctx.id)
    arguments = (active, ctx, Message.of(kept))
    threading.Thread(target=_next_turn, args=arguments, name="durable-next-turn", daemon=True).start()


def _next_turn(active: Activation, ctx: Any, message: Message) -> None:
    deadline = time.monotonic() + _NEXT_TURN_S
    while ctx.is_running() and ctx.id not in active.sessions and time.monotonic() < deadline:
        time.sleep(0.05)
    with active.chat_lock(ctx.id):
        if ctx.id in active.next_turns:
            active.next_turns.discard(ctx.id)
            _send(active, ctx, message)


def send_left_over(active: Activation, kept: Input) -> None:
    """A person sends a message that a Stop left over. What was discarded or sent is refused."""
    from agent import AgentContext

    ctx = AgentContext.get(kept.chat_id)
    if ctx is None:
        raise NotAllowed("The chat of this message is gone.")
    with active.chat_lock(ctx.id):
        run = active.journal.run(kept.run_id)
        if active.journal.offered_input(run.run_id, run.version, kept.input_id).state is not InputState.OFFERED:
            raise NotAllowed("This message was discarded.")
        _send(active, ctx, Message.of(kept))


def _send(active: Activation, ctx: Any, message: Message) -> None:
    """Hand a message that the journal knows already to the host, as if it came now."""
    if message.text or message.attachments:  # what an integration tells the model has no bubble
        notify.bubble(ctx, message.id, message.text, message.attachments)
    key = (ctx.id, message.id)
    active.claiming.add(key)
    try:
        ctx.communicate(message.to_host())
    finally:
        active.claiming.discard(key)


def monologue_start(active: Activation, data: dict[str, Any]) -> None:
    """The fence at the door of the loop: a chat with an unfinished run runs that run only."""
    agent = data["args"][0]
    session = active.sessions.get(agent.context.id)
    if session is None or session.position.path_of(agent) is None:
        return
    binding = bound.get()
    if binding is None or binding.session is not session or not binding.is_current:
        data["exception"] = notify.stopped(notify.HELD_ANSWER)


async def step_start(active: Activation, agent: Any) -> None:
    """The top of a loop step: deliver what waits, then take the resume point."""
    session = of_agent(agent)
    path = session.position.path_of(agent) if session is not None else None
    if session is None or path is None:
        return
    session.position.open_tools.pop(agent.number, None)
    session.sends.begin(path, session.position.step_of(path) + 1)
    again = messages.before_recorded(session, path)
    if again is None:
        if session.resumed and session.volatile:
            messages.note_lost_state(session, agent)
        messages.deliver_waiting(session, agent)
    elif again:
        messages.deliver_recorded(session, agent, again)
    if said := session.position.last_said.pop(agent.number, ""):
        agent.loop_data.last_response = said
    limits.put_back(agent, session.limits.pop(agent.number, {}))
    session.fresh = False
    if not session.position.is_divided(agent):
        await _checkpoint(active, session, agent)


async def _checkpoint(active: Activation, session: Session, agent: Any) -> None:
    ctx = agent.context
    answered = bool(agent.loop_data.last_response)
    point = session.projector.project(ctx, session.position.reached(), paths=session.position.paths, answered=answered)
    delivered = messages.delivered(session, ctx)

    def saved(done: Future[int]) -> None:
        if not done.cancelled() and done.exception() is None:
            session.projector.stored(point)
            messages.forget_delivered(session, delivered)

    def submit() -> Future[int]:
        future = active.journal.checkpoint(session.run.run_id, session.run.token, point, delivered, unhurried=True)
        future.add_done_callback(saved)
        return future

    # queued, not waited for: the next intent stands behind it in the same queue, shares its commit, and proves it
    session.point.handed_in(submit, await waiting.apart(submit) if waiting.is_large(point.nodes) else submit())
