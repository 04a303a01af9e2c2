"""After a restart: chats rebuilt, holds put in force, and what may go on started (I6, I10).

The scan runs once, on the main thread, before the scheduler's first tick. Launches run
on a thread of their own after the web server answers: starting work while the host
registers its file watchers can hang the host's start for ever.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from ..journal.errors import Corrupt, JournalError, Unavailable
from ..journal.records import Call, CallKind, Hold, HoldReason, Input, Outcome, Permission, Run, RunState
from . import messages, notify, policies, standing, stopping, turns, waiting
from .projection import Point, rebuild
from .session import ROOT_PATH, Message, Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

_PORT_S = 300.0


def scan(active: Activation) -> list[Session]:
    """Take up every unfinished run; one chat's failure holds that run only. Returns what may be launched."""
    ready = []
    for run in active.journal.unfinished():
        if run.chat_id in active.sessions:
            continue
        try:
            session = _take_up(active, run)
        except (Unavailable, TimeoutError):
            raise  # it says nothing about this chat: the whole activation waits
        except Exception as error:
            text = "The saved state of this chat could not be used. Nothing was repaired and nothing was changed."
            session = _hold(active, run, HoldReason.CHECKPOINT_CORRUPT, text, {"error": type(error).__name__})
        if session.phase is Phase.READY:
            ready.append(session)
    if not active.live:
        _complete_files(active)
    return ready


def _take_up(active: Activation, run: Run) -> Session:
    journal = active.journal
    if run.state in (RunState.RUNNING, RunState.QUEUED):
        run = journal.begin_recovery(run.run_id).result(waiting.PATIENT_S)
    session = Session(active, run, active.projector(run.chat_id), phase=Phase.HELD)
    session.messages = [Message.of(item) for item in journal.inputs(run.run_id)]
    active.add(session)
    try:
        point = _point(active, run)
    except Corrupt:
        text = "The saved state of this chat could not be read. It was not repaired and nothing was changed."
        return _hold(active, run, HoldReason.CHECKPOINT_CORRUPT, text, {})
    calls = journal.calls(run.run_id)
    problem = standing.problem(session.context(), point, run, session.messages, calls)
    if problem is None and active.live and session.is_at_work():  # switched off by hand, and its turn goes on without us
        problem = HoldReason.CHAT_MOVED_ON, standing.MOVED_ON
    if problem is not None and run.hold is not None and run.hold.reason is HoldReason.RESTORED:
        session.wait_for_person(run)  # that the journal was put back is decided first; the release looks at the chat again
        return session
    if problem is not None:
        return _hold(active, run, *problem, {})
    if not active.live:
        _rebuild(session, point)
    if run.state is RunState.HELD:
        session.wait_for_person(run)
        return session
    hold = journal.classify(run.run_id, lambda call: _permission_now(active, session, call))
    settled = journal.settle(run.run_id, hold).result(waiting.PATIENT_S)
    if settled.state is RunState.HELD:
        session.wait_for_person(settled)
    else:
        session.run, session.phase = settled, Phase.READY
    return session


def _hold(active: Activation, run: Run, reason: HoldReason, text: str, facts: dict[str, Any]) -> Session:
    """Put a hold in force without touching the chat."""
    session = active.sessions.get(run.chat_id) or Session(active, run, active.projector(run.chat_id))
    active.add(session)
    if run.hold is None or run.hold.reason is not reason:
        hold = Hold(reason=reason, call_id=None, text=text, facts=facts, since=active.journal.clock.now())
        run = active.journal.settle(run.run_id, hold).result(waiting.PATIENT_S)
    session.wait_for_person(run)
    return session


def _rebuild(session: Session, point: Point, *, living: bool = False) -> None:
    """Make the chat anew from the journal, show what an older log lacks, and write the host's file."""
    from helpers import persist_chat

    before = session.context()
    queued = standing.queue_beyond(before, point, living=living)
    ctx = rebuild(point)
    standing.put_queue(ctx, queued)
    if before is not None and before.name:
        ctx.name = before.name  # given in the background and saved at once: never older than the point's
    session.fresh = True
    session.volatile, session.answered = point.volatile, point.answered
    session.steps = dict(point.position)
    own = session.run.input
    notify.bubble(ctx, session.run.input_id, own["text"], own["attachments"])
    for message in session.messages:
        notify.bubble(ctx, message.id, message.text, message.attachments)
    present = messages.in_history(ctx)
    session.messages = [message for message in session.messages if message.id not in present]
    persist_chat.save_tmp_chat(ctx)
    if not point.saved:
        session.activation.journal.note_chat_saved(session.run.run_id)
    notify.refresh()


def _point(active: Activation, run: Run) -> Point:
    """The run's newest resume point; whether its chat has a file may have become true only afterwards."""
    with active.journal.reading():
        loaded = active.journal.resume_point(run.run_id)
        point = Point(loaded.root, loaded.position, loaded.tree)
    point.saved = point.saved or active.journal.chat_was_saved(run.run_id)
    return point


def remember_chat(active: Activation, session: Session) -> None:
    """Before we go out of force: give the chat its file, so that one that is missing later was deleted."""
    from helpers import persist_chat

    ctx = session.context()
    if ctx is None:
        return
    if not ctx.is_running():
        persist_chat.save_tmp_chat(ctx)
    if ctx.data.get(persist_chat.SAVED_CHAT_CONTEXT_DATA_KEY):
        active.journal.note_chat_saved(session.run.run_id)


def _permission_now(active: Activation, session: Session, call: Call) -> Permission:
    """What the pinned files allow today for a call whose tool is not loaded yet."""
    if call.permission.policy is None:
        return Permission(None, None)
    ctx = session.context()
    if call.name == "response" and ctx is not None and policies.is_delivered(ctx):
        return Permission(None, None)
    known = call.permission.source_digest in active.replay_pins.values()
    return call.permission if known else Permission(None, None)


def _complete_files(active: Activation) -> None:
    """A chat whose file is behind the last checkpoint of its finished run is completed (I6)."""
    from agent import AgentContext

    for run in active.journal.ended_in_last_boot():
        ctx = AgentContext.get(run.chat_id)
        if ctx is None or run.chat_id in active.sessions:
            continue
        try:
            point = _point(active, run)
        except (Corrupt, KeyError):
            continue  # a finished run's checkpoint is no authority over a chat that the host has
        if standing.is_behind(ctx, point):
            session = Session(active, run, active.projector(run.chat_id), phase=Phase.ENDED)
            _rebuild(session, point)


# -- launching ------------------------------------------------------------------------


def start_launching(active: Activation, ready: list[Session]) -> None:
    """Return at once; a thread waits for the web server and then launches, a few at a time."""
    late = active.journal.all_waiting()
    if ready or late:
        threading.Thread(target=_launch_all, args=(active, ready, late), name="durable-resume", daemon=True).start()


def _launch_all(active: Activation, ready: list[Session], late: list[Input]) -> None:
    _wait_for_port()
    slots = threading.Semaphore(active.settings["resume_parallel"])
    for session in ready:
        slots.acquire()
        session.on_passed = slots.release
        launch(session)
    for kept in late:
        _send_late(active, kept)


def _send_late(active: Activation, kept: Input) -> None:
    """A message whose turn ended, and the process with it, before it could become the next one."""
    from agent import AgentContext

    ctx = AgentContext.get(kept.chat_id)
    ended = active.journal.run(kept.run_id).state in (RunState.COMPLETED, RunState.FAILED)
    if ctx is not None and ended and kept.chat_id not in active.sessions:
        turns.next_turn(active, ctx, kept)


def _wait_for_port() -> None:
    from helpers import runtime

    deadline = time.monotonic() + _PORT_S
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", int(runtime.get_web_ui_port())), timeout=1.0):
                return
        except OSError:
            time.sleep(0.1)


def launch(session: Session) -> None:
    """Start the run's coroutine from its resume point; a launch that fails is said in the chat, and tried again at the next start."""
    active = session.activation
    if active.closed or session.phase is not Phase.READY:
        session.passed_cursor()
        return
    try:
        with active.chat_lock(session.chat_id):  # a message must not meet a run that has no task yet
            _launch(active, session)
    except JournalError as error:
        session.passed_cursor()
        session.phase = Phase.HELD
        ctx = session.context()
        if ctx is not None:
            notify.warn(ctx, "The run could not be continued", f"{error} Restart Agent Zero to try again.", "durable-launch")


def _launch(active: Activation, session: Session) -> None:
    from agent import AgentContext, UserMessage

    if not session.fresh:
        _rebuild(session, _point(active, session.run), living=True)
    claim = active.journal.claim(session.run.run_id).result(waiting.PATIENT_S)
    ctx = session.context()
    calls = active.journal.calls(session.run.run_id)
    session.recorded = {call.key.text for call in calls if call.outcome is not None and not call.abandoned}
    session.last_answer = _last_answer(session, calls)
    session.resumed = True
    session.fence(claim.run)
    session.claimed(claim)
    content = session.run.input
    in_history = any(m.id == session.run.input_id for m in ctx.agent0.history.all_messages())
    # a command like "/name" was resolved in an earlier life: only a message that the host never saw goes in as written
    text = "" if in_history else content["text"]
    message = UserMessage(text, list(content["attachments"]), list(content["system"]), id=session.run.input_id)
    AgentContext.set_current(ctx.id)
    ctx.run_task(ctx._process_chain, ctx.agent0, message)


def _last_answer(session: Session, calls: list[Call]) -> str:
    """What the model said last before the resume point. Without it a repeated answer would act a second time."""
    if not session.answered:
        return ""
    reached = session.steps.get(ROOT_PATH, 0)
    answers = [c for c in calls if c.key.kind is CallKind.MODEL and c.outcome is Outcome.OK and not c.abandoned and c.key.step <= reached]
    return str(answers[-1].value.get("response", "")) if answers and isinstance(answers[-1].value, dict) else ""


def released(active: Activation, run: Run) -> None:
    """A decision or a grant let the run go: wake its coroutine, or launch it, or end it."""
    session = active.sessions.get(run.chat_id)
    if session is None:
        return
    with active.chat_lock(run.chat_id):
        if run.state is RunState.STOPPED:
            _end(active, session, run)
        elif run.state is RunState.QUEUED:
            _go_on(active, session, run)
        else:
            session.run = run


def _go_on(active: Activation, session: Session, run: Run) -> None:
    notify.released(session)
    if session.phase is Phase.PARKED:
        session.claimed(active.journal.claim(run.run_id).result(waiting.PATIENT_S))
        return
    point = _point(active, run)
    if not session.fresh:
        known = [Message.of(item) for item in active.journal.inputs(run.run_id)]
        problem = standing.problem(session.context(), point, run, known, active.journal.calls(run.run_id))
        if problem is not None:
            _hold(active, run, *problem, {})
            return
        session.messages = known
    session.run, session.phase = run, Phase.READY
    threading.Thread(target=launch, args=(session,), name="durable-launch", daemon=True).start()


def _end(active: Activation, session: Session, run: Run) -> None:
    """Stop: the chat goes on from its last valid state plus the saved results, with a note."""
    was_parked, fresh, hold = session.phase is Phase.PARKED, session.fresh, session.run.hold
    session.end(run, "stopped", "This run was stopped by a person.")
    ctx = session.context()
    if ctx is None:
        return
    notify.no_badge(ctx)
    stopping.tell(active, session, ctx, hold, from_point=fresh and not was_parked)
