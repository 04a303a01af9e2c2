"""Calls beside each other: each is a job with a task and a worker chat of its own. The jobs of a chat live in memory only."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from helpers import extract_tools
from helpers.defer import THREAD_BACKGROUND, DeferredTask
from helpers.extension import call_extensions_async

if TYPE_CHECKING:
    from agent import Agent, AgentContext

PARALLEL_JOBS_KEY = "_parallel_jobs"
PARALLEL_WORKER_PARENT_CONTEXT_KEY = "_parallel_parent_context_id"
PARALLEL_WORKER_JOB_KEY = "_parallel_job_id"
PARALLEL_WORKER_KIND_KEY = "_parallel_worker_kind"
DEFAULT_TIMEOUT_SECONDS = 300
POLL_INTERVAL_SECONDS = 0.05
TERMINAL_STATES = {"success", "error", "cancelled", "timeout"}


@dataclass
class NormalizedToolCall:
    index: int
    tool_name: str
    tool_args: dict[str, Any]


@dataclass
class ParallelJob:
    id: str
    parent_context_id: str
    index: int
    tool_name: str
    tool_args: dict[str, Any]
    kind: str
    state: str = "pending"
    created_at: float = field(default_factory=time.time)
    started_at: float | None = None
    completed_at: float | None = None
    result: str | None = None
    error: str | None = None
    worker_context_id: str | None = None
    log_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    log_item: Any = None
    deferred_task: DeferredTask | None = None


def normalize_parallel_tool_calls(raw_calls: Any) -> list[NormalizedToolCall]:
    named = [extract_tools.normalize_tool_request(raw) for raw in raw_calls]
    return [NormalizedToolCall(index, name, dict(args)) for index, (name, args) in enumerate(named)]


def _jobs_for_context(context: AgentContext) -> dict[str, ParallelJob]:
    if context.get_data(PARALLEL_JOBS_KEY) is None:
        context.set_data(PARALLEL_JOBS_KEY, {})
    jobs: dict[str, ParallelJob] = context.get_data(PARALLEL_JOBS_KEY)
    return jobs


def _new_job_id(tool_name: str) -> str:
    return f"{tool_name}-{uuid.uuid4().hex[:8]}"


async def start_parallel_jobs(agent: Agent, calls: list[NormalizedToolCall]) -> list[ParallelJob]:
    jobs = []
    for call in calls:
        kind = "subordinate" if call.tool_name == "call_subordinate" else "tool"
        job = ParallelJob(_new_job_id(call.tool_name), agent.context.id, call.index, call.tool_name, call.tool_args, kind)
        _jobs_for_context(agent.context)[job.id] = job
        job.log_item = agent.context.log.log(type="tool", heading=f"Job {call.tool_name}", content="", kvps=call.tool_args, id=job.log_id)
        job.state, job.started_at = "running", time.time()
        job.deferred_task = DeferredTask(thread_name=THREAD_BACKGROUND)
        job.deferred_task.start_task(_run_parallel_job, agent.context.id, job.id)
        jobs.append(job)
    return jobs


async def await_parallel_jobs(
    agent: Agent,
    job_ids: list[str],
    timeout: int = DEFAULT_TIMEOUT_SECONDS,
    *,
    collect: bool = True,
    wait: bool = True,
) -> list[dict[str, Any]]:
    deadline = time.time() + timeout
    while True:
        await refresh_parallel_jobs(agent)
        jobs = _known(agent, job_ids)
        active = [job for job in jobs if job.state not in TERMINAL_STATES]
        if not wait or not active or time.time() >= deadline:
            break
        await asyncio.sleep(POLL_INTERVAL_SECONDS)
    late = {"wait_timed_out": True} if wait else {}
    found = [_job_snapshot(job) | (late if job in active else {}) for job in jobs]
    for job in jobs:
        if collect and job.state in TERMINAL_STATES:
            await _remove_context(job.worker_context_id if job.kind == "tool" else None)
            del _jobs_for_context(agent.context)[job.id]
    return found


async def cancel_parallel_jobs(agent: Agent, job_ids: list[str]) -> list[dict[str, Any]]:
    await refresh_parallel_jobs(agent)
    found = []
    for job in _known(agent, job_ids):
        if job.deferred_task and job.deferred_task.is_alive():
            job.deferred_task.kill()
        _finish_job(job, "cancelled", error="This job was cancelled.")
        found.append(_job_snapshot(job))
        del _jobs_for_context(agent.context)[job.id]
    return found


async def refresh_parallel_jobs(agent: Agent) -> list[ParallelJob]:
    """A task that ended without a word of its own tells how."""
    jobs = list(_jobs_for_context(agent.context).values())
    for job in jobs:
        if job.state not in TERMINAL_STATES and job.deferred_task and job.deferred_task.is_ready():
            try:
                await job.deferred_task.result()
            except asyncio.CancelledError:
                _finish_job(job, "cancelled", error="This job was cancelled.")
            except Exception as error:
                _finish_job(job, "error", error=str(error))
    return jobs


def _known(agent: Agent, job_ids: list[str]) -> list[ParallelJob]:
    jobs = _jobs_for_context(agent.context)
    if missing := [job_id for job_id in job_ids if job_id not in jobs]:
        raise ValueError(f"Unknown parallel job id(s): {', '.join(missing)}")
    return [jobs[job_id] for job_id in job_ids]


async def _run_parallel_job(parent_context_id: str, job_id: str) -> None:
    from agent import AgentContext

    parent = AgentContext.get(parent_context_id)
    job = _jobs_for_context(parent).get(job_id) if parent else None
    if job is None:
        return
    try:
        run = _run_subordinate_context_job if job.kind == "subordinate" else _run_direct_tool_job
        _finish_job(job, "success", result=await run(parent_context_id, job))
    except asyncio.CancelledError:
        _finish_job(job, "cancelled", error="This job was cancelled.")
        raise
    except Exception as error:
        _finish_job(job, "error", error=str(error))


async def _run_subordinate_context_job(parent_context_id: str, job: ParallelJob) -> str:
    from agent import AgentContext, UserMessage
    from helpers import message_queue, persist_chat

    message = str(job.tool_args.get("message") or "").strip()
    worker = AgentContext(config=_parent(parent_context_id).config, name=message[:40])
    job.worker_context_id, worker.task = worker.id, job.deferred_task
    _mark(worker, parent_context_id, job)
    worker.set_output_data("parent_context_id", parent_context_id)
    message_queue.log_user_message(worker, message, [], source=" (parallel)")
    worker.agent0.hist_add_user_message(UserMessage(message=message, system_message=["You work for another agent."]))
    persist_chat.save_tmp_chat(worker)
    try:
        result = await worker.agent0.monologue()
        worker.agent0.history.new_topic()
        return result
    finally:
        persist_chat.save_tmp_chat(worker)


async def _run_direct_tool_job(parent_context_id: str, job: ParallelJob) -> str:
    from agent import AgentContext, AgentContextType, LoopData

    worker = AgentContext(config=_parent(parent_context_id).config, name=f"parallel:{job.tool_name}", type=AgentContextType.BACKGROUND)
    try:
        _mark(worker, parent_context_id, job)
        job.worker_context_id, worker.agent0.loop_data = worker.id, LoopData()
        return await execute_tool_call(worker.agent0, job.tool_name, job.tool_args, log_item=job.log_item)
    finally:
        await _remove_context(worker.id)


async def execute_tool_call(agent: Agent, tool_name: str, tool_args: dict[str, Any], *, log_item: Any = None) -> str:
    tool = agent.get_tool(tool_name, None, tool_args, json.dumps(tool_args), agent.loop_data)
    if log_item is not None:
        tool.get_log_object = lambda: log_item
    agent.loop_data.current_tool = tool
    try:
        await tool.before_execution(**tool_args)
        await call_extensions_async("tool_execute_before", agent, tool_args=tool_args or {}, tool_name=tool_name)
        response = await tool.execute(**tool_args)
        await call_extensions_async("tool_execute_after", agent, response=response, tool_name=tool_name)
        await tool.after_execution(response)
        return str(response.message)
    finally:
        agent.loop_data.current_tool = None


def _parent(context_id: str) -> Any:
    from agent import AgentContext

    if parent := AgentContext.get(context_id):
        return parent
    raise ValueError("Parent context not found.")


def _mark(worker: AgentContext, parent_context_id: str, job: ParallelJob) -> None:
    worker.set_data(PARALLEL_WORKER_PARENT_CONTEXT_KEY, parent_context_id)
    worker.set_data(PARALLEL_WORKER_JOB_KEY, job.id)
    worker.set_data(PARALLEL_WORKER_KIND_KEY, job.kind)


def _finish_job(job: ParallelJob, state: str, *, result: str | None = None, error: str | None = None) -> None:
    job.state, job.completed_at = state, time.time()
    job.result, job.error = result or job.result, error or job.error
    if job.log_item:
        job.log_item.update(content=result or error or "")


async def _remove_context(context_id: str | None) -> None:
    from agent import AgentContext
    from helpers import persist_chat

    if context_id and (context := AgentContext.get(context_id)):
        context.reset()
        AgentContext.remove(context_id)
        persist_chat.remove_chat(context_id)


def _job_snapshot(job: ParallelJob) -> dict[str, Any]:
    facts = {"job_id": job.id, "tool_name": job.tool_name, "state": job.state, "result": job.result, "error": job.error}
    return {key: value for key, value in facts.items() if value is not None}
