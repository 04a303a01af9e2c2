"""Enabled but not active: chats with an unfinished run stay closed, all others pass.

The journal is only looked at, without its lock. One that cannot be read at all opens
every chat under a warning: it must not take the host down with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..journal.errors import JournalError
from ..journal.look import peek_unfinished
from . import anchor, notify, paths

TURN_EVENTS = {"communicate.start", "nudge.start", "chain.start", "user_message.start", "monologue.start"}
OF_AGENT = {"user_message.start", "monologue.start"}
FIRST_USE = {"communicate.start"}
TEXT = (
    "This chat has an unfinished run, and Durable Execution is not active: nothing was started. "
    "Open Recovery in the sidebar for the reason."
)


def check(event: str, data: dict[str, Any]) -> None:
    """Refuse a turn of a chat whose run has not ended."""
    if event not in TURN_EVENTS or not paths.is_switched_on():
        return
    owner = data["args"][0]
    ctx = owner.context if event in OF_AGENT else owner
    if ctx.id not in unfinished():
        return
    if event not in ("communicate.start", "nudge.start"):
        data["exception"] = notify.stopped(TEXT)
        return
    notify.warn(ctx, "Not started", TEXT, f"durable-guard-{ctx.id}")
    data["result"] = _answer()


def is_new_work(event: str, data: dict[str, Any], sessions: Mapping[str, Any]) -> bool:
    """A message that would begin a run: after an update it waits for the restart and passes unrecorded."""
    return event == "communicate.start" and data["args"][0].id not in sessions


def unfinished() -> set[str]:
    """Chats that must stay closed; empty when the journal cannot be read at all."""
    anchor.holder().unreadable = ""
    try:
        return set(peek_unfinished(paths.data_folder()))
    except (JournalError, OSError) as error:
        anchor.holder().unreadable = str(error)
        return set()


def _answer() -> Any:
    from helpers.defer import DeferredTask

    async def say() -> str:
        return TEXT

    task = DeferredTask(thread_name="DurableExecution").start_task(say)
    anchor.holder().guard_task = task  # the host ends a task that nobody keeps
    return task
