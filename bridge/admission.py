"""Messages into a chat (I5): new ones, repeats, those to a running turn or to a held chat, and requests with a key of their own.
What a person does besides is in `persons.py`, scheduled turns are in `occurrences.py`, jobs in `jobs.py`.

Runs in the caller's thread, on synchronous host functions: one commit is waited for,
briefly, and what cannot be recorded is refused before it starts.
"""

from __future__ import annotations

import time
import uuid
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from ..journal.errors import ChatBusy, CommitTimeout, InputConflict, JournalError, RunEnded
from ..journal.records import Input, Run
from . import (
    agents,
    answers,
    beginnings,
    callers,
    deliveries,
    heartbeat,
    notify,
    paths,
    persons,
    programs,
    queue,
    waiting,
)
from .beginnings import TOO_LATE, content_of, is_orphan
from .bindings import bound
from .messages import Message
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

REFUSED_OTHER = "A message with this id was already sent with other content. It was refused; nothing was started."
KEY_TOO_LONG = "The Idempotency-Key is longer than 255 characters. Nothing was started."
SENT_AGAIN = "A program sent this request again with the same Idempotency-Key. It got the recorded answer; nothing was started."
_KEY = "Idempotency-Key"
_BAD_REQUEST, _CONFLICT = 400, 409


# -- messages -----------------------------------------------------------------------


def communicate_start(active: Activation, data: dict[str, Any]) -> None:
    """Admit a message before the host sees it; serve a task where nothing may start."""
    args, kwargs = data["args"], data["kwargs"]
    ctx = args[0]
    msg = args[1] if len(args) > 1 else kwargs["msg"]
    key = "" if bound.get() is not None else programs.key_of_request()  # a turn's own coroutine is a copy of its request's context
    if not key:
        _come_in(active, ctx, msg, data)
        return
    with active.chat_lock(f"{_KEY} {key}"):  # the chat of a first request and that of its repeat are two
        _come_in_by_key(active, ctx, msg, data, key)


def _come_in(active: Activation, ctx: Any, msg: Any, data: dict[str, Any], key: str = "") -> None:
    programs.waits_here(ctx)
    sent = queue.sending.get()
    if sent is not None:
        msg.id = sent.input_id
    if not _is_recorded(active, ctx):
        active.announced.discard((ctx.id, msg.id))
        return
    if deliveries.was_told(active, msg):
        data["result"] = active.answer("This was said before Agent Zero was restarted.")
        return
    callers.watch()
    if not msg.id:
        _name(ctx, msg)
    with active.chat_lock(ctx.id):
        session = active.sessions.get(ctx.id)
        try:
            known = _known_before(active, ctx, msg)
            if known is not None:
                data["result"] = known
            elif session is None or not _to_unfinished(active, session, ctx, msg, data):
                _admit(active, ctx, msg, data)
        except InputConflict:
            notify.warn(ctx, "Message refused", REFUSED_OTHER, str(uuid.uuid4()))
            data["result"] = active.answer(REFUSED_OTHER)
            if key:
                programs.refuse(_CONFLICT, REFUSED_OTHER)
        except JournalError as error:
            _not_taken_in(active, ctx, data, str(error))
        finally:
            active.announced.discard((ctx.id, msg.id))


def _not_taken_in(active: Activation, ctx: Any, data: dict[str, Any], why: str) -> None:
    text = f"Your message was not taken in and nothing was started: {why} Send it again."
    sent = queue.sending.get()
    if sent is not None:  # it stands in the queue again
        sent.refused = True
    else:
        notify.warn(ctx, "Message not recorded", text, str(uuid.uuid4()))
    data["result"] = active.answer(text)


def _come_in_by_key(active: Activation, ctx: Any, msg: Any, data: dict[str, Any], key: str) -> None:
    """A request's own key is the message's id, whichever chat the host chose for it (I5)."""
    if programs.is_too_long(key):
        programs.refuse(_BAD_REQUEST, KEY_TOO_LONG)
        data["result"] = active.answer(KEY_TOO_LONG)
        return
    shown = next((item for item in reversed(ctx.log.logs) if item.id == msg.id), None)
    msg.id = key
    try:
        known = active.journal.find_anywhere(key, content_of(msg))
    except JournalError:
        known = None  # the message behind it is refused for the same reason
    if known is None:
        if shown is not None:
            shown.id = key
    elif known[1].chat_id == ctx.id:
        if shown is not None:
            shown.update(type="info", heading="Sent again", content=SENT_AGAIN)
    else:
        _answer_elsewhere(active, ctx, data, known)
        return
    _come_in(active, ctx, msg, data, key)


def _answer_elsewhere(active: Activation, ctx: Any, data: dict[str, Any], known: tuple[str, Run | Input]) -> None:
    """The key belongs to a message of another chat: its answer, if this is the same request, else a refusal."""
    verdict, record = known
    if verdict == "other" or programs.names_chat():
        programs.refuse(_CONFLICT, REFUSED_OTHER)
        data["result"] = active.answer(REFUSED_OTHER)
    else:
        programs.answer_for(record.chat_id)
        data["result"] = answers.recorded(active, active.sessions.get(record.chat_id), record)
    if not programs.names_chat():
        programs.drop_empty(ctx)


def _name(ctx: Any, msg: Any) -> None:
    """A message without an id gets one, and so does its bubble: a rebuilt chat must not draw it again."""
    msg.id = str(uuid.uuid4())
    last = ctx.log.logs[-1] if ctx.log.logs else None
    if last is not None and last.type == "user" and not last.id:
        last.id = msg.id


def communicate_end(active: Activation, data: dict[str, Any]) -> None:
    """Callers wait for a task of ours, which also ends when the run is held; never for the host's."""
    session = data.get("_durable_session")
    if session is None:
        return
    session.starting = False
    if data["exception"] is not None:
        session.end(waiting.commit(active.journal.stop_run(session.run.run_id, "the turn could not be started")), "stopped")
        return
    if persons.acting_now() != "nudge":  # nudge stores what we return as the chat's own task
        data["result"] = active.task(answers.of_turn, session)


def _is_recorded(active: Activation, ctx: Any) -> bool:
    """False where the plugin is switched off, or was when this chat's turn began."""
    if ctx.id in active.sessions:
        return True
    if not paths.is_switched_on_for(ctx.agent0):  # its steps would pass unseen
        return False
    _let_close(active, ctx)
    if ctx.is_running() and ctx.id not in active.closing:  # it ran before we were switched on: protected from its next message
        active.unprotected.add(ctx.id)
        return False
    active.unprotected.discard(ctx.id)
    return True


def _let_close(active: Activation, ctx: Any) -> None:
    """A turn whose run was closed a moment ago may still be on its last lines: it takes no message any more."""
    deadline = time.monotonic() + waiting.SYNC_S
    while ctx.id in active.closing and ctx.is_running() and time.monotonic() < deadline:
        time.sleep(0.005)
    if not ctx.is_running():
        active.closing.discard(ctx.id)


def _let_start(session: Session, ctx: Any) -> None:
    """Another thread admitted a message a moment ago and is about to start its coroutine: it is not lost."""
    deadline = time.monotonic() + waiting.SYNC_S
    while session.starting and not ctx.is_running() and time.monotonic() < deadline:
        time.sleep(0.002)


def _known_before(active: Activation, ctx: Any, msg: Any) -> Any:
    """A task with the recorded answer if this very message was taken in before, else None."""
    if (ctx.id, msg.id) in active.claiming:
        return None
    found = active.journal.find_input(ctx.id, msg.id, content_of(msg))
    if found is None:
        return None
    verdict, record = found
    if verdict == "other":
        raise InputConflict()
    session = active.sessions.get(ctx.id)
    if isinstance(record, Run) and session is None and is_orphan(active, record):
        return None
    return answers.recorded(active, session, record)


def _admit(active: Activation, ctx: Any, msg: Any, data: dict[str, Any]) -> None:
    if ctx.id in active.closing:  # the host would hand it to that task, which takes none any more
        _not_taken_in(active, ctx, data, "The turn before it is still ending.")
        return
    projector = active.projector(ctx.id)
    entered = agents.entered_at(ctx.get_agent().number)  # a chat that was saved while a subordinate spoke goes on there
    point = projector.project(ctx, {}, paths=entered)
    try:
        admitted = beginnings.admit(active, ctx, msg, point)
    except ChatBusy as busy:
        if not is_orphan(active, busy.run):
            # the journal knows an unfinished run that this process could not take up
            text = "This chat has an unfinished run that could not be read. Open Recovery in the sidebar. Nothing was started."
            notify.warn(ctx, "Not started", text, f"durable-busy-{busy.run.run_id}")
            data["result"] = active.answer(text)
            return
        waiting.commit(active.journal.stop_run(busy.run.run_id, TOO_LATE, refused=True))
        admitted = beginnings.admit(active, ctx, msg, point)
    if admitted.repeat and not is_orphan(active, admitted.run):
        data["result"] = answers.repeat(active, None, admitted.run)
        return
    session = beginnings.session_of(active, admitted.run, projector, point, entered)
    if active.suspension is None:
        session.starting = True
        data["_durable_session"] = session
    else:
        beginnings.begin_after_restart(active, session)
        data["result"] = active.task(answers.of_turn, session)


def _to_unfinished(active: Activation, session: Session, ctx: Any, msg: Any, data: dict[str, Any]) -> bool:
    """A message for a run that has not ended: saved first, then delivered once or kept. False: it ended just now."""
    _let_start(session, ctx)
    future = active.journal.keep_input(session.run.run_id, msg.id, content_of(msg))
    try:
        kept = waiting.commit(future)
    except CommitTimeout:
        if (ctx.id, msg.id) not in active.claiming:  # that one is known already, under this very id
            future.add_done_callback(partial(_withdraw, active))
        raise
    except RunEnded:
        active.drop(session)
        active.closing.add(ctx.id)
        _let_close(active, ctx)
        return False
    message = Message.of(kept)
    with session.lock:
        session.messages.append(message)
    if session.phase is Phase.RUNNING and session.is_at_work():
        ctx.paused = False
        agent = _reached(session, ctx)
        if agent.intervention is None and ctx.is_running():
            data["_durable_session"] = session
            return True
        if agent.intervention is None:  # a scheduled turn is not its chat's own task: the host would begin a second one
            agent.intervention = message.to_host()
        data["result"] = active.task(answers.of_turn, session)  # the host has one slot; ours has room
    elif session.phase is Phase.RUNNING:
        try:
            _continue_lost(active, session, ctx, data)
        except JournalError as error:  # the message is recorded all the same: sent again it would be a second one
            notify.inform(ctx, "Message kept", f"{notify.KEPT} {error}")
            data["result"] = active.answer(notify.KEPT)
    else:
        notify.inform(ctx, "Message kept", notify.KEPT)
        data["result"] = active.answer(notify.why_waiting(active, session))
    return True


def _withdraw(active: Activation, late: Future[Input]) -> None:
    """A message that was answered with a refusal must not start to count afterwards: it is sent again, under another id."""
    if not late.cancelled() and late.exception() is None:
        kept = late.result()
        active.journal.discard_input(kept.run_id, None, kept.input_id, TOO_LATE)


def _reached(session: Session, ctx: Any) -> Any:
    """The agent whom a message reaches: the one at work. Between two of its steps the host would take the first agent."""
    agent = session.position.deepest(ctx)
    ctx.streaming_agent = agent if agent.number else ctx.streaming_agent
    return agent


def _continue_lost(active: Activation, session: Session, ctx: Any, data: dict[str, Any]) -> None:
    """The run has no coroutine any more (a nudge, or it died): this message begins a new one."""
    if persons.acting_now() != "nudge":
        persons.interrupt(active, session, ctx, "its task had ended")
    if session.phase is Phase.RUNNING and heartbeat.is_missing(session):
        heartbeat.hold(session)
    if session.phase is Phase.RUNNING:
        _reached(session, ctx)
        session.listen_again()
        session.starting = True
        data["_durable_session"] = session
    else:
        data["result"] = active.answer(notify.HELD_ANSWER)


def already_shown(active: Activation, ctx: Any, message: str, attachments: list[str], ident: str | None) -> bool:
    """Tell whether a message's bubble stands already, or the message will be refused."""
    if not ident or not active.is_on:
        return False
    with active.lock:
        if (ctx.id, ident) in active.announced:
            return True
        active.announced.add((ctx.id, ident))
    content = {"text": message, "attachments": list(attachments or []), "system": []}
    try:
        known = active.journal.find_input(ctx.id, ident, content)
    except JournalError:
        return False  # the bubble is drawn, and the message behind it is refused
    if known is None:
        return False
    active.announced.discard((ctx.id, ident))
    return True
