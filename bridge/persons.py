"""What a person does to a chat beside writing in it: nudge, kill, reset, delete.

Reset and deletion are a Stop, recorded first or not done. A nudge or a kill never ends a
run: what was in the middle is unknown, or was replaced (I3).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError, RunEnded
from ..journal.records import HoldReason, RunState
from . import children, jobs, notify, programs, waiting
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

CHAT_GONE = "The file of this chat is gone, and nobody deleted the chat here. The run was left as it is."
acting = threading.local()  # .what: the person's action that the host's own inner calls of this thread belong to


def acting_now() -> str:
    return getattr(acting, "what", "")


def nudge_start(active: Activation, data: dict[str, Any]) -> None:
    """A nudge cannot slip past a hold; with an open tool call it becomes one (I3)."""
    ctx = data["args"][0]
    with active.chat_lock(ctx.id):
        session = active.sessions.get(ctx.id)
        if session is None:
            return
        if session.phase is Phase.RUNNING:
            interrupt(active, session, ctx, "a person pressed Nudge")
        if session.phase is Phase.RUNNING:
            acting.what = "nudge"  # taken back at nudge/end: the host runs kill and communicate in between
        else:
            data["result"] = active.answer(notify.why_waiting(active, session))


def nudge_end(active: Activation, data: dict[str, Any]) -> None:
    acting.what = ""


def kill_start(active: Activation, data: dict[str, Any]) -> None:
    """Killing a task never ends a run: an open tool call is held, an open model call was replaced."""
    ctx = data["args"][0]
    if acting_now():
        return
    session = active.sessions.get(ctx.id)
    if session is not None and session.phase is Phase.RUNNING and ctx.is_running():
        interrupt(active, session, ctx, "its task was stopped")


def interrupt(active: Activation, session: Session, ctx: Any, by: str) -> None:
    """Fence the running coroutine; what it was in the middle of is unknown or replaced."""
    jobs.cut_loose(session)
    run = waiting.commit(active.journal.interrupt_run(session.run.run_id, by))
    session.fence(run)
    if run.state is RunState.HELD:
        session.fresh = False
        if ctx.task is not None:
            ctx.task.kill()
        session.wait_for_person(run)


def reset_start(active: Activation, data: dict[str, Any]) -> None:
    """Resetting a chat is a Stop by the person: recorded first, or it does not happen."""
    ctx = data["args"][0]
    session = active.sessions.get(ctx.id)
    if programs.is_cleaning_up(session):
        data["result"] = None
        return
    if session is not None:
        _stop_by_person(active, session, "the chat was reset", data)
        if data["exception"] is not None:
            return
        notify.no_badge(ctx)
    if _stop_jobs(active, ctx.id, "the chat was reset", data):
        acting.what = "reset"


def reset_end(active: Activation, data: dict[str, Any]) -> None:
    acting.what = ""


def remove_start(active: Activation, data: dict[str, Any]) -> None:
    """Deleting a chat is a Stop by the person. A chat whose file vanished is not: it is held."""
    chat_id = data["args"][0] if data["args"] else data["kwargs"]["id"]
    with active.chat_lock(chat_id):  # its next turn has begun, and is stopped below, or never begins
        active.next_turns.discard(chat_id)
        session = active.sessions.get(chat_id)
    if session is None:
        _stop_jobs(active, chat_id, "the chat was deleted", data)
        return
    if programs.is_cleaning_up(session):
        data["result"] = session.context()
        return
    if _file_vanished(session):
        session.fresh = False  # the host drops the chat from memory now: a decision has to load it again
        session.wait_for_person(waiting.commit(active.journal.hold_run(session.run.run_id, HoldReason.CHAT_GONE, text=CHAT_GONE)))
    else:
        _stop_by_person(active, session, "the chat was deleted", data)
        if data["exception"] is None:
            _stop_jobs(active, chat_id, "the chat was deleted", data)


def _file_vanished(session: Session) -> bool:
    from helpers import persist_chat

    ctx = session.context()
    was_saved = ctx is not None and ctx.data.get("_persist_chat_saved")
    return bool(was_saved) and session.chat_id not in persist_chat.saved_chat_ids()


def _stop_by_person(active: Activation, session: Session, what: str, data: dict[str, Any]) -> None:
    try:
        run = waiting.commit(active.journal.stop_run(session.run.run_id, f"person: {what}"))
    except RunEnded:
        return  # a moment ago: nothing of it is left to stop
    except JournalError as error:
        data["exception"] = notify.stopped(f"Nothing was changed: the journal could not record it. {error}")
        return
    session.end(run, "stopped")
    children.end_stopped(active)


def _stop_jobs(active: Activation, chat_id: str, what: str, data: dict[str, Any]) -> bool:
    """Jobs that earlier turns of the chat left at work are stopped, too, or the chat stays as it is: they would go on unseen."""
    problem = children.stop_of_chat(active, chat_id, f"person: {what}")
    if problem is not None:
        data["exception"] = notify.stopped(f"The chat was left as it is: a job of it could not be stopped. {problem}")
    return problem is None
