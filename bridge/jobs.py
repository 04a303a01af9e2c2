"""Jobs of the host's `parallel`: recorded before they start, known by their names, gone on with after a restart or a decision.

What the host's own functions do stays theirs; `overrides/helpers/parallel_tools.py` hands them in. What becomes of one job
at work stands in `workers.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from ..journal.children import place_of
from ..journal.errors import JournalError
from ..journal.records import ChildOrder, Run, RunState
from . import children, launching, notify, waiting, workers
from .bindings import of_agent, starting_call
from .policies import SUBORDINATE
from .projection import RECORDED_JOBS
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

TOOL = "parallel"
CANCELLED = "the agent cancelled it"

_names: ContextVar[list[str] | None] = ContextVar("durable_execution_job_names", default=None)

type Jobs = list[dict[str, Any]]


def job_name() -> str:
    """The recorded name of the job that is about to be made, or nothing."""
    names = _names.get()
    return names.pop(0) if names else ""


# -- starting -----------------------------------------------------------------------------------


async def start(active: Activation, original: Callable[..., Awaitable[Any]], agent: Any, calls: list[Any]) -> Any:
    """Record what the call starts, or find what it started before; then the host starts its jobs under these names."""
    found = starting_call.get()
    if found is None or not active.is_on:
        return await original(agent, calls)
    session, call = found
    of_agent(agent)
    orders = [_order(each) for each in calls]
    try:
        admitted = await waiting.durable(
            lambda: active.journal.admit_children(session.run.run_id, session.run.token, call.call_id, orders),
            session.note_store,
            large=waiting.is_large(*(order.content for order in orders)),
        )
    except JournalError as error:
        raise notify.stopped(str(error)) from error
    for each in admitted:
        if not each.repeat:
            children.session_of(active, each.run, agent.context.id, phase=Phase.READY).starting = True
    ids = [str(each.run.input["job_id"]) for each in admitted]
    agent.context.data.setdefault(RECORDED_JOBS, set()).update(ids)
    token = _names.set(list(ids))
    try:
        return await original(agent, calls)
    finally:
        _names.reset(token)


def _order(call: Any) -> ChildOrder:
    from agent import AgentContext
    from helpers import parallel_tools

    content: dict[str, Any] = {"name": call.tool_name, "arguments": call.tool_args}
    has_chat = call.tool_name == SUBORDINATE
    if has_chat:
        attachments = call.tool_args.get("attachments")
        content["text"] = str(call.tool_args.get("message") or "").strip()
        content["attachments"] = [str(each) for each in attachments] if isinstance(attachments, list) else []
        content["system"] = []
    return ChildOrder(call.index, parallel_tools._new_job_id(call.tool_name), content, AgentContext.generate_id() if has_chat else "")


# -- names --------------------------------------------------------------------------------------


async def wait_for(
    active: Activation, original: Callable[..., Awaitable[Jobs]], agent: Any, job_ids: list[str], timeout: int, *, collect: bool, wait: bool
) -> Jobs:
    """The host's wait; time in which a person has to decide about one of these jobs does not count."""
    if not active.is_on or of_agent(agent) is None:
        return await original(agent, job_ids, timeout, collect=collect, wait=wait)
    know(active, agent.context, job_ids)
    waited = True
    while waited:  # once more in full after the last decision
        of_agent(agent)
        held = _held(active, agent.context.id, job_ids)
        found = await original(agent, job_ids, timeout, collect=False, wait=wait)
        late = {each["job_id"] for each in found if each.get("wait_timed_out")}
        waited = bool(late) and (held or _held(active, agent.context.id, job_ids))
    if not collect:
        return found
    collected = await original(agent, job_ids, timeout, collect=True, wait=False)
    return [each | ({"wait_timed_out": True} if each["job_id"] in late and _is_active(each) else {}) for each in collected]


async def cancel(active: Activation, original: Callable[..., Awaitable[Jobs]], agent: Any, job_ids: list[str]) -> Jobs:
    """The agent ends jobs: recorded first, so that none of them starts anything after it."""
    if not active.is_on or of_agent(agent) is None:
        return await original(agent, job_ids)
    know(active, agent.context, job_ids)
    for job_id in job_ids:
        session = active.child_of_job(agent.context.id, job_id)
        if session is None:
            continue
        run_id = session.run.run_id
        try:
            await waiting.durable(partial(active.journal.stop_run, run_id, CANCELLED), session.note_store)
        except JournalError:
            continue  # it ended a moment ago
    children.end_stopped(active)
    return await original(agent, job_ids)


def _is_active(snapshot: dict[str, Any]) -> bool:
    from helpers import parallel_tools

    return snapshot["state"] not in parallel_tools.TERMINAL_STATES


def _held(active: Activation, chat_id: str, job_ids: Iterable[str]) -> bool:
    """Whether one of them waits for a person, or for its turn after a restart or a decision."""
    sessions = [active.child_of_job(chat_id, job_id) for job_id in job_ids]
    return any(session is not None and session.phase in (Phase.HELD, Phase.PARKED, Phase.READY) for session in sessions)


def know(active: Activation, ctx: Any, job_ids: list[str]) -> None:
    """Jobs that an earlier process started, or that were collected before it ended, are known to the host again."""
    from helpers import parallel_tools

    jobs = parallel_tools._jobs_for_context(ctx)
    for job_id in job_ids:
        if job_id not in jobs and (run := active.journal.child_by_job(ctx.id, job_id)) is not None:
            jobs[job_id] = _job(ctx, run)
            if not run.state.is_final:
                _start(ctx, jobs[job_id])


def _job(ctx: Any, run: Run) -> Any:
    from helpers import parallel_tools

    states = {RunState.COMPLETED: "success", RunState.FAILED: "error", RunState.STOPPED: "cancelled"}
    kind = "subordinate" if run.input["name"] == SUBORDINATE else "tool"
    job_id, name = str(run.input["job_id"]), str(run.input["name"])
    job = parallel_tools.ParallelJob(job_id, ctx.id, place_of(run), name, dict(run.input["arguments"]), kind)
    job.state = states.get(run.state, "running")
    job.created_at = job.started_at = run.created_at / 1000
    job.worker_context_id = run.chat_id if run.chat_id != ctx.id else None
    if run.state.is_final:
        job.completed_at = run.changed_at / 1000
        job.result = str(run.answer) if run.state is RunState.COMPLETED else None
        job.error = None if run.state is RunState.COMPLETED else str(run.answer or "Parallel job was cancelled.")
    return job


def _start(ctx: Any, job: Any) -> None:
    from helpers import parallel_tools
    from helpers.defer import THREAD_BACKGROUND, DeferredTask

    ctx.data.setdefault(RECORDED_JOBS, set()).add(job.id)
    job.deferred_task = DeferredTask(thread_name=THREAD_BACKGROUND)
    job.deferred_task.start_task(parallel_tools._run_parallel_job, ctx.id, job.id)


def resume(active: Activation, session: Session) -> None:
    """Start the host's job for a child whose parent call does not start it again, unless one is at work on it."""
    from agent import AgentContext
    from helpers import parallel_tools

    assert session.child is not None
    ctx = AgentContext.get(session.child.above)
    if ctx is None:
        return
    job = session.child.job
    if job is not None and job.deferred_task is not None and job.deferred_task.is_alive():
        return
    jobs = parallel_tools._jobs_for_context(ctx)
    jobs[session.child.job_id] = _job(ctx, session.run)
    _start(ctx, jobs[session.child.job_id])


def resume_all(active: Activation) -> None:
    """After a restart: jobs whose parent does not wait for them any more go on as runs of their own."""
    for session in list(active.children.values()):
        if children.stands_alone(active, session.run):
            resume(active, session)


def cut_loose(session: Session) -> Any:
    """The task of this child is about to be ended, and its run is not: its job still waits for it. Answers that task, if any."""
    from helpers.defer import THREAD_BACKGROUND, DeferredTask

    async def until_end() -> None:
        while session.phase is not Phase.ENDED and not session.activation.closed:
            await asyncio.sleep(workers.LOOK_S)

    job = session.child.job if session.child is not None else None
    if job is None:
        return None
    before, job.deferred_task = job.deferred_task, DeferredTask(thread_name=THREAD_BACKGROUND).start_task(until_end)
    return before


# -- decisions ----------------------------------------------------------------------------------


def released(active: Activation, run: Run) -> None:
    """A decision or a grant let a run go: of a child its job goes on with it. A Stop may have gone down to others."""
    session = active.session_of(run)
    if session is None or session.child is None:
        launching.released(active, run)
    else:
        with active.chat_lock(run.run_id):
            if run.state is RunState.QUEUED:
                _go_on(active, session, run)
            elif run.state is not RunState.STOPPED:
                session.run = run
    if run.state is RunState.STOPPED:
        children.end_stopped(active)


def _go_on(active: Activation, session: Session, run: Run) -> None:
    launching.let_park(active, session)
    notify.released(session)
    if session.phase is Phase.PARKED and active.suspension is not None:
        task = cut_loose(session)
        session.fence(session.run)
        session.phase, session.fresh = Phase.HELD, False
        if task is not None:
            task.kill()
    if session.phase is Phase.PARKED:
        session.claimed(active.journal.claim(run.run_id).result(waiting.PATIENT_S))
        return
    if run.checkpoint_seq:
        if not launching.may_go_on(active, session, run):
            return
        run = active.journal.settle(run.run_id, None).result(waiting.PATIENT_S)
    with session.lock:  # its coroutine may just come to wait for what was decided already
        session.run, session.phase = run, Phase.READY
    if children.stands_alone(active, run):
        resume(active, session)
