"""Runs set going: after a restart, a few at a time and the suspects alone, and after a decision (I10).

Launches run on a thread of their own after the web server answers: starting work while the
host registers its file watchers can hang the host's start for ever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..journal.errors import Corrupt, JournalError
from ..journal.records import Call, CallKind, HoldReason, Input, Outcome, Run, RunState
from . import agents, heartbeat, messages, notify, queue, resume, stopping, turns, turnstile, waiting
from .messages import Message
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

_PORT_S = 300.0
_LOOK_S = 0.01
_ON_ITS_WAY_S = 5.0


def start(active: Activation, ready: list[Session], first: Callable[[], None]) -> None:
    """Return at once; a thread waits for the web server, does what comes first and launches, a few at a time, in the order given."""
    late = [] if active.live else active.journal.all_waiting()
    threading.Thread(target=_begin, args=(active, ready, late, first), name="durable-resume", daemon=True).start()


def _begin(active: Activation, ready: list[Session], late: list[Input], first: Callable[[], None]) -> None:
    _wait_for_port()
    active.on_served()
    first()
    _launch_all(active, ready, late)


def go_on(active: Activation, ready: list[Session]) -> None:
    """A suspension was taken back: what it put aside is set going again, in the order given."""
    if ready:
        threading.Thread(target=_launch_all, args=(active, ready, []), name="durable-resume", daemon=True).start()


def _launch_all(active: Activation, ready: list[Session], late: list[Input]) -> None:
    for session in ready:
        if session.run.recoveries:
            _let_others_end(active, session)
        launch(session)
    for kept in late:
        _send_late(active, kept)
    if not active.live:
        queue.send_due(active)


def _let_others_end(active: Activation, suspect: Session) -> None:
    """If a suspect takes the process down again, what its neighbours were in the middle of goes with it: let them end first."""
    deadline = time.monotonic() + turnstile.PATIENCE_S
    while any(other is not suspect for other in active.running()) and not active.closed and time.monotonic() < deadline:
        time.sleep(0.1)


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
    """Wait for a turn, then start the run's coroutine from its resume point; a launch that fails is said in the chat.

    It is tried again at the next start. After an end of the process during recovery each run goes alone.
    """
    active = session.activation
    passed = active.launches.enter(alone=active.careful or session.run.recoveries > 0)
    try:
        with active.chat_lock(session.chat_id):  # a message must not meet a run that has no task yet
            if active.closed or active.suspension is not None or session.phase is not Phase.READY:
                passed()  # the end of a suspension and a decision may both launch it: one of them does
            else:
                session.on_passed = passed
                _launch(active, session)
    except Exception as error:  # whatever a chat makes of it: the other runs go on
        _failed(session, str(error) if isinstance(error, JournalError) else f"{type(error).__name__}.")


def _failed(session: Session, why: str) -> None:
    """The process goes on, so this was no crash: the attempt is taken back."""
    session.passed_cursor()
    session.phase = Phase.HELD
    with contextlib.suppress(JournalError, TimeoutError):
        session.activation.journal.settle(session.run.run_id, None).result(waiting.PATIENT_S)
    ctx = session.context()
    if ctx is not None:
        notify.warn(ctx, "The run could not be continued", f"{why} Restart Agent Zero to try again.", "durable-launch")
    else:
        notify.write(f"A run could not be continued. {why} Restart Agent Zero to try again.")


def take_on(active: Activation, session: Session) -> int:
    """Rebuild the chat if it has to be, and claim the run: from here its records are served. Answers the life that begins."""
    if session.run.checkpoint_seq and not session.fresh:
        active.journal.begin_recovery(session.run.run_id).result(waiting.PATIENT_S)
        resume.rebuild_chat(session, resume.point_of(active, session.run))
        active.journal.settle(session.run.run_id, None).result(waiting.PATIENT_S)
    claim = active.journal.claim(session.run.run_id).result(waiting.PATIENT_S)
    calls = active.journal.calls(session.run.run_id)
    ended = [call for call in calls if call.outcome is not None and not call.abandoned]
    session.recorded = {call.key.text: call.extra.get(messages.BEFORE, []) for call in ended}
    position = session.position
    deepest = max(position.paths)
    position.last_said = {deepest: _last_answer(session, position.paths[deepest], calls)}
    session.resumed = True
    session.fence(claim.run)
    life = session.generation
    session.claimed(claim)
    return life


async def reenter(session: Session, ctx: Any) -> Any:
    """Re-enter the loop of a chat, in the caller's own task, at the agent that was at work."""
    agent = session.position.deepest(ctx)
    return await ctx._process_chain(agent, _message_of(session, agent))


def _launch(active: Activation, session: Session) -> None:
    from agent import AgentContext

    if heartbeat.is_missing(session):
        session.passed_cursor()
        heartbeat.hold(session, patient=True)
        return
    take_on(active, session)
    ctx = session.context()
    agent = session.position.deepest(ctx)
    AgentContext.set_current(ctx.id)
    ctx.run_task(ctx._process_chain, agent, _message_of(session, agent))


def _message_of(session: Session, agent: Any) -> Any:
    """What the agent at work was asked; it is adopted where it stands in the history."""
    from agent import UserMessage

    if agents.opened_by(session.position.paths[agent.number]) is not None:  # its superior asked it
        asked = agent.last_user_message
        return UserMessage("", id=asked.id if asked is not None else "")
    content = session.run.input
    in_history = any(m.id == session.run.input_id for m in agent.history.all_messages())
    # a command like "/name" was resolved in an earlier life: only a message that the host never saw goes in as written
    text = "" if in_history else content["text"]
    return UserMessage(text, list(content["attachments"]), list(content["system"]), id=session.run.input_id)


def _last_answer(session: Session, path: str, calls: list[Call]) -> str:
    """What the model said last before the resume point. Without it a repeated answer would act a second time."""
    if not session.answered:
        return ""
    reached = session.position.step_of(path)
    said = [c for c in calls if c.key.path == path and c.key.kind is CallKind.MODEL and c.outcome is Outcome.OK and not c.abandoned]
    answers = [c for c in said if c.key.step <= reached]
    return str(answers[-1].value.get("response", "")) if answers and isinstance(answers[-1].value, dict) else ""


def released(active: Activation, run: Run) -> None:
    """A decision or a grant let the run go: wake its coroutine, or launch it, or end it."""
    session = active.session_of(run)
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
    let_park(active, session)
    notify.released(session)
    if session.phase is Phase.PARKED and active.suspension is not None:
        _leave_parked(session)
    if session.phase is Phase.PARKED:
        session.claimed(active.journal.claim(run.run_id).result(waiting.PATIENT_S))
        return
    if not may_go_on(active, session, run):
        return
    settled = active.journal.settle(run.run_id, None).result(waiting.PATIENT_S)
    with session.lock:  # a coroutine of it may just come to wait for what was decided already
        session.run, session.phase = settled, Phase.READY
    threading.Thread(target=launch, args=(session,), name="durable-launch", daemon=True).start()


def let_park(active: Activation, session: Session) -> None:
    """Decided a moment after it was held: the coroutine may be on its way to where it waits still, and goes on from there."""
    deadline = time.monotonic() + _ON_ITS_WAY_S
    while session.phase is Phase.RUNNING and session.is_at_work() and time.monotonic() < deadline:
        if active.closed or active.suspension is not None:
            return
        time.sleep(_LOOK_S)


def may_go_on(active: Activation, session: Session, run: Run) -> bool:
    """Whether the chat still stands as it did when the run began to wait; else it is held for that."""
    active.journal.begin_recovery(run.run_id).result(waiting.PATIENT_S)
    known = [Message.of(item) for item in active.journal.inputs(run.run_id)]
    problem = _problem(active, session, run, known)
    if problem is not None:
        session.fresh = False
        resume.hold(active, run, *problem, {})
        return False
    if not session.fresh:
        session.messages = known
    return True


def _leave_parked(session: Session) -> None:
    """Decided while everything is suspended: the coroutine that waited for it starts no step, so the run is launched anew."""
    session.fence(session.run)
    session.phase, session.fresh = Phase.HELD, False
    ctx = session.context()
    if ctx is not None and ctx.task is not None:
        ctx.task.kill()


def _problem(active: Activation, session: Session, run: Run, known: list[Message]) -> tuple[HoldReason, str] | None:
    """What happened to the chat while a person thought: also one that was rebuilt may have been compacted since."""
    try:
        point = resume.point_of(active, run)
    except Corrupt:
        return HoldReason.CHECKPOINT_CORRUPT, resume.UNREADABLE
    return resume.problem_of(session, point, run, known, active.journal.calls(run.run_id))


def _end(active: Activation, session: Session, run: Run) -> None:
    """Stop: the chat goes on from its last valid state plus the saved results, with a note."""
    was_parked, fresh, hold = session.phase is Phase.PARKED, session.fresh, session.run.hold
    session.end(run, "stopped", "This run was stopped by a person.")
    ctx = session.context()
    if ctx is not None:
        notify.no_badge(ctx)
        stopping.end_task(ctx)
        stopping.tell(active, session, ctx, hold, from_point=fresh and not was_parked)
    active.journal.end_completion(run.run_id)
