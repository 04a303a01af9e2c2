"""Every way into a turn of a chat (I5): new messages, repeats, messages to a running
turn, messages to a held chat, nudge, kill, reset, removal.

Runs in the caller's thread, on synchronous host functions: one commit is waited for,
briefly, and what cannot be recorded is refused before it starts.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..journal.errors import ChatBusy, CommitTimeout, InputConflict, JournalError, RunEnded
from ..journal.records import Admitted, Input, ResumePoint, Run, RunState
from ..journal.recovery import Cut
from . import agents, callers, deliveries, heartbeat, notify, paths, persons, programs, queue, settings, suspension, waiting
from .bindings import bound
from .projection import Projector
from .session import Message, Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

REFUSED_OTHER = "A message with this id was already sent with other content. It was refused; nothing was started."
ANSWER_GONE = "This message was recorded and its run has ended; its answer is no longer kept. Nothing was started."
KEY_TOO_LONG = "The Idempotency-Key is longer than 255 characters. Nothing was started."
SENT_AGAIN = "A program sent this request again with the same Idempotency-Key. It got the recorded answer; nothing was started."
_KEY = "Idempotency-Key"
_BAD_REQUEST, _CONFLICT = 400, 409
_LOOK_S = 5.0


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
            text = f"Your message was not taken in and nothing was started: {error} Send it again."
            if sent is not None:
                sent.refused = True
            if sent is None:  # a queued one stands in the queue again
                notify.warn(ctx, "Message not recorded", text, str(uuid.uuid4()))
            data["result"] = active.answer(text)
        finally:
            active.announced.discard((ctx.id, msg.id))


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
        data["result"] = _recorded(active, active.sessions.get(record.chat_id), ctx, record)
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
        data["result"] = active.task(_answer, session)


async def _answer(session: Session) -> Any:
    """What a caller gets: the turn's own end, or at once that it waits for a person."""
    outcome = session.outcome
    while not outcome.done():
        await asyncio.wait({asyncio.wrap_future(outcome)}, timeout=_LOOK_S)
        if not outcome.done() and session.is_lost():
            return "This turn ended without an answer. Open Recovery in the sidebar."
    word = outcome.result()
    if word == "held":
        return notify.HELD_ANSWER
    if word == "suspended":
        return notify.SUSPENDED
    if word == "ended":
        if session.error is not None:
            raise session.error
        return session.answer
    ctx = session.context()
    if word == "off" and ctx is not None and ctx.task is not None:  # switched off by hand: the turn goes on unrecorded
        return await ctx.task.result()
    return session.ended_by or "This turn was stopped."


def _is_recorded(active: Activation, ctx: Any) -> bool:
    """False where the plugin is switched off, or was when this chat's turn began."""
    if ctx.id in active.sessions:
        return True
    if not paths.is_switched_on_for(ctx.agent0):  # its steps would pass unseen
        return False
    _let_close(active, ctx)
    if ctx.is_running():  # it ran before we were switched on: protected from its next message
        active.unprotected.add(ctx.id)
        return False
    active.unprotected.discard(ctx.id)
    return True


def _let_close(active: Activation, ctx: Any) -> None:
    """A turn whose run was closed a moment ago may still be on its last lines: it takes no message any more."""
    deadline = time.monotonic() + waiting.SYNC_S
    while ctx.id in active.closing and ctx.is_running() and time.monotonic() < deadline:
        time.sleep(0.005)
    active.closing.discard(ctx.id)


def _let_start(session: Session, ctx: Any) -> None:
    """Another thread admitted a message a moment ago and is about to start its coroutine: it is not lost."""
    deadline = time.monotonic() + waiting.SYNC_S
    while session.starting and not ctx.is_running() and time.monotonic() < deadline:
        time.sleep(0.002)


def content_of(msg: Any) -> dict[str, Any]:
    return {"text": msg.message, "attachments": list(msg.attachments), "system": list(msg.system_message)}


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
    if isinstance(record, Run) and session is None and _is_orphan(active, record):
        return None
    return _recorded(active, session, ctx, record)


def _recorded(active: Activation, session: Session | None, ctx: Any, record: Run | Input) -> Any:
    if isinstance(record, Run):
        return _repeat(active, session, ctx, record)
    return active.answer(notify.KEPT if record.state.value == "waiting" else "This message was already delivered.")


def _repeat(active: Activation, session: Session | None, ctx: Any, run: Run) -> Any:
    if run.is_removed:
        return active.answer(ANSWER_GONE)
    if run.state is RunState.COMPLETED:
        return active.answer(str(run.answer or ""))
    if session is not None and session.run.run_id == run.run_id:
        return active.task(_answer, session)
    return active.answer(f"This message was already handled; its run is {run.state.value}.")


def _admit(active: Activation, ctx: Any, msg: Any, data: dict[str, Any]) -> None:
    projector = active.projector(ctx.id)
    entered = agents.entered_at(ctx.get_agent().number)  # a chat that was saved while a subordinate spoke goes on there
    point = projector.project(ctx, {}, paths=entered)
    try:
        admitted = _admitted(active, ctx, msg, point)
    except ChatBusy as busy:
        if not _is_orphan(active, busy.run):
            # the journal knows an unfinished run that this process could not take up
            text = "This chat has an unfinished run that could not be read. Open Recovery in the sidebar. Nothing was started."
            notify.warn(ctx, "Not started", text, f"durable-busy-{busy.run.run_id}")
            data["result"] = active.answer(text)
            return
        waiting.commit(active.journal.stop_run(busy.run.run_id, "refused: the journal did not answer"))
        admitted = _admitted(active, ctx, msg, point)
    if admitted.repeat and not _is_orphan(active, admitted.run):
        data["result"] = _repeat(active, None, ctx, admitted.run)
        return
    session = _session(active, admitted.run, projector, point, entered)
    if active.suspension is None:
        session.starting = True
        data["_durable_session"] = session
    else:
        put_by(active, session)
        data["result"] = active.task(_answer, session)


def put_by(active: Activation, session: Session) -> None:
    """Taken in while everything is suspended: it is recorded, begins after the restart, and its caller is let go."""
    run = session.run
    cut = Cut(active.suspension.by if active.suspension else "")
    future = active.journal.suspend_run(run.run_id, run.token, lambda call: call.permission, cut)
    session.run = waiting.commit(future)
    suspension.put_by(session)


def begin(active: Activation, ctx: Any, input_id: str, content: dict[str, Any], *, title: str, facts: dict[str, Any]) -> Session | None:
    """Admit a turn that comes in by another way than `communicate`; None if it was taken in before."""
    projector = active.projector(ctx.id)
    entered = agents.entered_at(0)
    point = projector.project(ctx, {}, paths=entered)
    admitted = _committed(active, active.journal.admit(ctx.id, input_id, content, title=title, mode=mode_of(ctx) | facts, point=point))
    return None if admitted.repeat else _session(active, admitted.run, projector, point, entered)


def _session(active: Activation, run: Run, projector: Projector, point: ResumePoint, entered: dict[int, str]) -> Session:
    projector.stored(point)
    session = Session(active, run, projector, generation=1, paths=entered)
    session.messages = [Message.of(item) for item in active.journal.waiting(run.chat_id)]
    active.add(session)
    return session


def _admitted(active: Activation, ctx: Any, msg: Any, point: ResumePoint) -> Admitted:
    future = active.journal.admit(
        ctx.id,
        msg.id,
        content_of(msg),
        title=ctx.name or active.journal.masker.text(msg.message)[:80],  # masked before it is cut
        mode=mode_of(ctx),
        point=point,
        claim_waiting=(ctx.id, msg.id) in active.claiming,
    )
    return _committed(active, future)


def _committed(active: Activation, future: Future[Admitted]) -> Admitted:
    try:
        return waiting.commit(future)
    except CommitTimeout:
        future.add_done_callback(lambda late: _withdraw(active, late))
        raise


def mode_of(ctx: Any) -> dict[str, str]:
    """How this run behaves, by the chat's project and profile as they are set now. What is set wrongly is said in the chat."""
    mode, problems = settings.mode_for(ctx.agent0)
    for problem in problems:
        ident = f"durable-setting-{problem}"
        if not any(item.id == ident for item in ctx.log.logs):
            notify.warn(ctx, "A setting of Durable Execution cannot be used", problem, ident)
    return mode


def _is_orphan(active: Activation, run: Run) -> bool:
    """An admission of this very process that was committed and answered with a refusal: nothing of it ever ran."""
    mine = run.boot_id == active.journal.boot_id and run.chat_id not in active.sessions
    return mine and run.state is RunState.RUNNING and not active.journal.calls(run.run_id)


def _withdraw(active: Activation, late: Future[Any]) -> None:
    """An admission that was answered with a refusal must not start to count afterwards."""
    if late.cancelled() or late.exception() is not None or late.result().repeat:
        return
    active.journal.stop_run(late.result().run.run_id, "refused: the journal answered too late")


def _to_unfinished(active: Activation, session: Session, ctx: Any, msg: Any, data: dict[str, Any]) -> bool:
    """A message for a run that has not ended: saved first, then delivered once or kept. False: it ended just now."""
    _let_start(session, ctx)
    try:
        kept = waiting.commit(active.journal.keep_input(session.run.run_id, msg.id, content_of(msg)))
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
        data["result"] = active.task(_answer, session)  # the host has one slot; ours has room
    elif session.phase is Phase.RUNNING:
        _continue_lost(active, session, ctx, data)
    else:
        notify.inform(ctx, "Message kept", notify.KEPT)
        data["result"] = active.answer(notify.why_waiting(active, session))
    return True


def _reached(session: Session, ctx: Any) -> Any:
    """The agent whom a message reaches: the one at work. Between two of its steps the host would take the first agent."""
    agent = session.deepest(ctx)
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
