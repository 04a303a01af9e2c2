"""The page's view of everything: chat list, the selected chat's changed items, notifications."""

from __future__ import annotations

from typing import Any

from agent import AgentContext, AgentContextType
from helpers import persist_chat
from helpers.task_scheduler import TaskScheduler


async def build_snapshot(*, context: str | None, log_from: int, notifications_from: int, timezone: str | None) -> dict[str, Any]:
    _prune_missing_saved_contexts()
    active = AgentContext.get(context) if context else None
    log = active.log.output(start=log_from) if active else None
    notifications, guid, version = AgentContext.get_notification_manager().output_with_state(notifications_from)
    scheduler = TaskScheduler.get()
    contexts, tasks = [], []
    for ctx in AgentContext.all():
        if ctx.type != AgentContextType.BACKGROUND:
            task = scheduler.serialize_task(ctx.id)
            (tasks if task else contexts).append({**ctx.output(), **(task or {})})
    for entries in (contexts, tasks):
        entries.sort(key=lambda entry: entry["created_at"], reverse=True)
    return {
        "deselect_chat": bool(context) and active is None,
        "context": active.id if active else "",
        "contexts": contexts,
        "tasks": tasks,
        "logs": log.items if log else [],
        "log_guid": active.log.guid if active else "",
        "log_version": log.end if log else 0,
        "log_progress": active.log.progress if active else 0,
        "log_progress_active": bool(active and active.log.progress_active),
        "paused": bool(active and active.paused),
        "notifications": notifications,
        "notifications_guid": guid,
        "notifications_version": version,
    }


def _prune_missing_saved_contexts() -> None:
    """A chat whose file somebody deleted goes, unless it is running.

    The host looks for the files first, and drops a chat that has its first file since and has ended its turn.
    """
    known = [ctx for ctx in AgentContext.all() if ctx.data.get(persist_chat.SAVED_CHAT_CONTEXT_DATA_KEY)]
    saved = persist_chat.saved_chat_ids()
    for ctx in known:
        if ctx.id not in saved and ctx.type != AgentContextType.BACKGROUND and not ctx.is_running():
            AgentContext.remove(ctx.id)
