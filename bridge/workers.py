"""One job of the host's `parallel` at work: its run once, from where its record ends, told to the host as the first time.

A hold inside a job is waited for here: it never becomes a result with which the parent goes on. Which jobs there are, and
by what names they are known, is the affair of `jobs.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError
from ..journal.records import Run, RunState
from . import launching, notify, turns
from .bindings import Binding, bound
from .children import Child
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

LOST = "The task of this job was cancelled while it ran. What it did so far is recorded."
LOOK_S = 0.1
"""How often is looked whether somebody else has moved on."""

_chat: ContextVar[str] = ContextVar("durable_execution_worker_chat", default="")


def context_start(active: Activation, data: dict[str, Any]) -> None:
    """The worker chat of a recorded job gets its recorded id."""
    wanted = _chat.get()
    if wanted and len(data["args"]) < 3 and not data["kwargs"].get("id"):
        _chat.set("")
        data["kwargs"]["id"] = wanted


async def run(active: Activation, original: Callable[..., Awaitable[str]], parent_context_id: str, job: Any) -> str:
    """Do a job's work as its run: once, from where its record ends. What has ended is answered from the record."""
    session = active.child_of_job(parent_context_id, job.id)
    if session is None:
        ended = active.journal.child_by_job(parent_context_id, job.id) if active.is_on else None
        return await original(parent_context_id, job) if ended is None else recorded(ended)
    assert session.child is not None
    session.child.job = job
    while (generation := await _life(active, session, job)) is not None:
        try:
            result = await _work(session, generation, original, parent_context_id, job)
        except asyncio.CancelledError:
            if session.phase is Phase.ENDED:
                break  # how it ended is in the record: stopped, or closed a moment before its task was ended
            await _outlive(session, generation)
            continue
        except Exception as error:
            if session.phase is Phase.ENDED:
                break
            if session.generation == generation and await turns.close(active, session, None, error):
                raise
            continue
        if session.phase is Phase.RUNNING and session.generation == generation and await turns.close(active, session, result, None):
            return result
    return recorded(active.journal.run(session.run.run_id))


async def _life(active: Activation, session: Session, job: Any) -> int | None:
    """The life of the child in which this coroutine works on it from now on, or None: it has ended elsewhere.

    Whoever ends the task while it waits for that, like a suspension that begins just now, ends no run either.
    """
    while True:
        generation = session.generation
        try:
            return await _turn(active, session, job)
        except asyncio.CancelledError:
            if session.phase is Phase.ENDED:
                return None
            await _outlive(session, generation)


async def _outlive(session: Session, generation: int) -> None:
    """Somebody ended the task, not the run: it goes on in its chat, or waits for a decision."""
    active, task = session.activation, asyncio.current_task()
    if active.closed or task is None:
        raise asyncio.CancelledError
    task.uncancel()
    while not active.closed and not await asyncio.to_thread(_lost, session, generation):
        await asyncio.sleep(LOOK_S)


def _lost(session: Session, generation: int) -> bool:
    """Nobody of ours ended the task: the child is held. False while the journal does not answer."""
    with session.activation.chat_lock(session.run.run_id):
        if session.phase is Phase.RUNNING and session.generation == generation:
            try:
                session.lost_its_task(LOST)
            except JournalError:
                return False
    return True


async def _turn(active: Activation, session: Session, job: Any) -> int | None:
    """Wait until this coroutine may work on the child: in which life; or until it has ended elsewhere: None.

    Where the host started a job anew for the child, that one goes on with it; the one before only waits for the end.
    """
    while session.phase is not Phase.ENDED:
        if active.closed:
            raise notify.stopped("Durable Execution was switched off before this job went on.")
        if active.suspension is not None or not _is_newest(session, job):
            await asyncio.sleep(LOOK_S)
            continue
        with session.lock:  # a suspension may put it aside from the next moment on
            first, session.starting = session.starting, False
            if first:
                session.phase = Phase.RUNNING
                return session.generation
        if session.phase is not Phase.READY or not await _taken_on(session, job):
            await asyncio.sleep(LOOK_S)
    return None


def _is_newest(session: Session, job: Any) -> bool:
    return session.child is not None and session.child.job is job


async def _taken_on(session: Session, job: Any) -> bool:
    try:
        return await asyncio.to_thread(_take_on, session, job)
    except Exception as error:
        raise notify.stopped(f"This job could not be continued: {error}") from error


def _may_take_on(session: Session, job: Any) -> bool:
    active = session.activation
    return session.phase is Phase.READY and _is_newest(session, job) and not active.closed and active.suspension is None


def _take_on(session: Session, job: Any) -> bool:
    """Wait for a turn and claim the child for this job: from here its records are served. Of several only one does. Blocks.

    Who asked may be cancelled meanwhile: what was claimed is begun by the coroutine that looks next.
    """
    active = session.activation
    passed = active.launches.enter(alone=active.careful or session.run.recoveries > 0)
    with active.chat_lock(session.run.run_id):
        if not _may_take_on(session, job):
            passed()
            return False
        session.on_passed = passed
        try:
            life = launching.take_on(active, session)
        except BaseException:
            session.passed_cursor()
            raise
        with session.lock:
            session.starting = session.generation == life
        return session.starting


async def _work(session: Session, generation: int, original: Callable[..., Awaitable[str]], parent_context_id: str, job: Any) -> str:
    child = session.child
    assert child is not None
    if session.run.checkpoint_seq and child.has_chat and session.resumed:
        bound.set(None)  # its own loop binds it, and closes it
        return await _continue(session, child, job)
    session.position.stand_at_start()
    bound.set(Binding(session, generation))
    _chat.set(session.chat_id if child.has_chat else "")
    return await original(parent_context_id, job)


async def _continue(session: Session, child: Child, job: Any) -> str:
    """A subordinate goes on in the chat that it had, from its last step."""
    from helpers import parallel_tools, persist_chat

    ctx = session.context()
    job.worker_context_id, ctx.task = ctx.id, job.deferred_task
    ctx.set_data(parallel_tools.PARALLEL_WORKER_PARENT_CONTEXT_KEY, child.above)
    ctx.set_data(parallel_tools.PARALLEL_WORKER_JOB_KEY, child.job_id)
    ctx.set_data(parallel_tools.PARALLEL_WORKER_KIND_KEY, job.kind)
    try:
        result = await launching.reenter(session, ctx)
        ctx.agent0.history.new_topic()
        return str(result)
    finally:
        persist_chat.save_tmp_chat(ctx)


def recorded(run: Run) -> str:
    """How a child ended, told to the host's job as the first time."""
    if run.state is RunState.COMPLETED:
        return str(run.answer)
    if run.state is RunState.STOPPED:
        raise asyncio.CancelledError
    raise RuntimeError(str(run.answer))
