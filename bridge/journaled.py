"""What override files may use of us, under the name `journaled`: each of these passes through while nothing is in force.

Host functions keep it longer than an activation lasts, so that it keeps nothing: the activation is looked up at each call.
It decides nothing; the rooms that it names do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from . import anchor, deliveries, jobs, model_calls, paths, queue, quiet, restarts, workers
from .admission import already_shown


@cache
def _own_files() -> tuple[str, ...]:
    return f"{paths.data_folder()}/", *map(str, paths.other_heads())


class Journaled:
    """One for every override file; see the first lines of this module."""

    @staticmethod
    def job_name() -> str:
        return jobs.job_name()

    @staticmethod
    async def start_jobs(original: Any, agent: Any, calls: list[Any]) -> Any:
        active = anchor.active()
        return await (jobs.start(active, original, agent, calls) if active else original(agent, calls))

    @staticmethod
    async def run_job(original: Any, parent_context_id: str, job: Any) -> Any:
        active = anchor.active()
        return await (workers.run(active, original, parent_context_id, job) if active else original(parent_context_id, job))

    @staticmethod
    async def await_jobs(original: Any, agent: Any, job_ids: list[str], timeout: int, *, collect: bool, wait: bool) -> Any:
        active = anchor.active()
        if active is None:
            return await original(agent, job_ids, timeout, collect=collect, wait=wait)
        return await jobs.wait_for(active, original, agent, job_ids, timeout, collect=collect, wait=wait)

    @staticmethod
    async def cancel_jobs(original: Any, agent: Any, job_ids: list[str]) -> Any:
        active = anchor.active()
        return await (jobs.cancel(active, original, agent, job_ids) if active else original(agent, job_ids))

    @staticmethod
    def already_shown(ctx: Any, message: str, attachments: list[str], ident: str | None, source: str) -> bool:
        active = anchor.active()
        anew = bool(source) and queue.sending.get() is None  # an integration's own bubble
        return bool(active and not anew and (queue.is_drawn(ctx) or already_shown(active, ctx, message, attachments, ident)))

    @staticmethod
    def queued_id(ident: str | None) -> str | None:
        sent = queue.sending.get()
        return ident if sent is None else sent.input_id

    @staticmethod
    def queued_before(ctx: Any, ident: str | None, text: str) -> dict[str, Any] | None:
        active = anchor.active()
        return None if active is None else queue.known(active, ctx, ident, text)

    @staticmethod
    def queue_added(ctx: Any, item: dict[str, Any]) -> None:
        if (active := anchor.active()) is not None:
            queue.added(active, ctx, item)

    @staticmethod
    def queue_changed(ctx: Any) -> None:
        if anchor.active() is not None:
            queue.save(ctx)

    @staticmethod
    def sending(ctx: Any, items: list[dict[str, Any]] | None) -> AbstractContextManager[None]:
        active = anchor.active()
        if active is None:
            return nullcontext()
        return queue.on_their_way(active, ctx, queue.all_of(ctx) if items is None else items)

    @staticmethod
    def hooks(point: str, agent: Any, found: list[Any]) -> list[Any]:
        active = anchor.active()
        return found if active is None else quiet.hooks(active, point, agent, found)

    @staticmethod
    async def deliver(sender: str, original: Callable[..., Awaitable[Any]], ctx: Any, text: str, *rest: Any) -> Any:
        active = anchor.active()
        if active is None:
            return await original(ctx, text, *rest)
        return await deliveries.deliver(active, sender, original, ctx, text, *rest)

    @staticmethod
    async def heard(effect: Awaitable[Any]) -> Any:
        try:
            return await effect
        except Exception as error:
            deliveries.hear(error)
            raise

    request_failed = staticmethod(model_calls.request_failed)
    hear = staticmethod(deliveries.hear)
    check_silence = staticmethod(deliveries.check_silence)

    @staticmethod
    def is_own_file(path: str) -> bool:
        """Whether the journal writes it: its folder with all in it, and where else it is remembered how far it has come."""
        return anchor.active() is not None and f"{path}/".startswith(_own_files())

    @staticmethod
    def server_made() -> None:
        active = anchor.active()
        if active is not None:
            restarts.watch(active)

    @staticmethod
    def before_restart() -> None:
        restarts.before_restart()
