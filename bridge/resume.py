"""After a restart: chats rebuilt and holds put in force, one run in hand at a time (I6, I10).

The scan runs once, on the main thread, before the scheduler's first tick. Loading one chat
may end the process: each is counted before, and those that were in hand when a process
ended come last. What may go on is launched later (`launching.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..journal.attempts import Completion, may_load
from ..journal.errors import Corrupt, Unavailable
from ..journal.records import Call, Hold, HoldReason, Run, RunState
from ..journal.recovery import Restart
from . import children, documents, messages, notify, programs, restoring, standing, stopping, waiting
from .messages import Message
from .projection import Point, rebuild
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation


UNREADABLE = "The saved state of this chat could not be read. It was not repaired and nothing was changed."


def scan(active: Activation) -> list[Session]:
    """Take up every unfinished run; one chat's failure holds that run only. Returns what may be launched."""
    ready = []
    # what a parent's end settles for its children is settled first; among the others the suspects come last
    unfinished = sorted(active.journal.unfinished(), key=lambda run: (run.parent_call_id is not None, run.recoveries, run.run_id))
    active.careful = any(run.recoveries for run in unfinished)
    for run in unfinished:
        if active.session_of(run) is not None or (run.parent_call_id is not None and active.journal.run(run.run_id).state.is_final):
            continue
        try:
            session = _take_up(active, run)
        except (Unavailable, TimeoutError):
            raise  # it says nothing about this chat: the whole activation waits
        except Exception as error:
            text = "The saved state of this chat could not be used. Nothing was repaired and nothing was changed."
            session = hold(active, run, HoldReason.CHECKPOINT_CORRUPT, text, {"error": type(error).__name__})
        if session.phase is Phase.READY and session.child is None:
            ready.append(session)
    if not active.live:
        _complete_chats(active)
    return ready


def _take_up(active: Activation, run: Run) -> Session:
    journal = active.journal
    run = journal.begin_recovery(run.run_id).result(waiting.PATIENT_S)
    session = _session(active, run)
    session.messages = [Message.of(item) for item in journal.inputs(run.run_id)]
    if not may_load(run):
        session.wait_for_person(run)
        return session
    if session.child is not None and not run.checkpoint_seq:
        return children.take_up(active, run)
    try:
        point = point_of(active, run)
    except Corrupt:
        return hold(active, run, HoldReason.CHECKPOINT_CORRUPT, UNREADABLE, {})
    calls = journal.calls(run.run_id)
    problem = problem_of(session, point, run, session.messages, calls)
    if problem is None and active.live and session.is_at_work():  # switched off by hand, and its turn goes on without us
        problem = HoldReason.CHAT_MOVED_ON, standing.MOVED_ON
    if problem is not None and run.hold is not None and run.hold.reason is HoldReason.RESTORED:
        session.wait_for_person(run)  # that the journal was put back is decided first; the release looks at the chat again
        return session
    if problem is not None:
        return hold(active, run, *problem, {})
    if not active.live:
        rebuild_chat(session, point)
    session.caller_gone = point.is_background and session.child is None  # a job's caller is its parent
    next_ = Restart() if run.state is RunState.HELD else children.after_restart(active, run)
    if next_.ends:
        return _end(active, session)
    asks = session.caller_gone and run.state is not RunState.HELD
    why = programs.hold_if_gone(journal, run, next_.hold) if asks else next_.hold
    settled = journal.settle(run.run_id, why).result(waiting.PATIENT_S)
    if settled.state is RunState.HELD:
        session.wait_for_person(settled)
    else:
        session.run, session.phase = settled, Phase.READY
    return session


def _end(active: Activation, session: Session) -> Session:
    """The mode `off`: nothing more of this run goes on. Its chat is told first, so that a further kill only repeats the telling."""
    ctx = session.context()
    if ctx is not None:
        stopping.tell(active, session, ctx, None, from_point=not active.live, note=stopping.ENDED_BY_SETTING)
    session.end(stopping.by_setting(active, session.run.run_id), "stopped", stopping.ENDED_BY_SETTING)
    return session


def _session(active: Activation, run: Run) -> Session:
    """The session of an unfinished run, made if there is none. A child whose parent cannot be read stands by its own chat."""
    found = active.session_of(run)
    if found is not None:
        return found
    if run.parent_call_id is not None:
        try:
            return children.session_of(active, run, children.above_of(active, run))
        except Corrupt:
            return children.session_of(active, run, "")
    session = Session(active, run, active.projector(run.chat_id), phase=Phase.HELD)
    active.add(session)
    return session


def problem_of(session: Session, point: Point, run: Run, known: list[Message], calls: list[Call]) -> tuple[HoldReason, str] | None:
    """Why the chat must not be rebuilt. Where a person chose its state, nothing but a turn at work speaks against it."""
    if session.activation.journal.waiting_selection(run.run_id) is None:
        return standing.problem(session.context(), point, run, known, calls)
    return (HoldReason.CHAT_MOVED_ON, standing.MOVED_ON) if session.is_at_work() else None


def hold(active: Activation, run: Run, reason: HoldReason, text: str, facts: dict[str, Any]) -> Session:
    """Put a hold in force without touching the chat."""
    session = _session(active, run)
    why = Hold(reason=reason, call_id=None, text=text, facts=facts, since=active.journal.clock.now())
    session.wait_for_person(active.journal.settle(run.run_id, why).result(waiting.PATIENT_S))
    return session


def rebuild_chat(session: Session, point: Point) -> None:
    """Make the chat anew from the journal, show what an older log lacks, and write the host's file.

    If a person chose this state, what the chat has beyond it is kept as another chat first.
    """
    from helpers import persist_chat

    journal = session.activation.journal
    chosen = None if session.phase is Phase.ENDED else journal.waiting_selection(session.run.run_id)
    kept = restoring.keep_copy(session, point, chosen) if chosen else ""
    before = session.context()
    queued = standing.queue_of(before)
    ctx = rebuild(point)
    standing.put_queue(ctx, queued)
    if before is not None and before.name:
        ctx.name = before.name  # given in the background and saved at once: never older than the point's
    session.fresh = True
    session.volatile, session.answered, session.limits = point.volatile, point.answered, point.limits()
    session.position.stand_at(point.position, point.paths)
    own = session.run.input
    notify.bubble(ctx, session.run.input_id, own["text"], own["attachments"])
    for message in session.messages:
        notify.bubble(ctx, message.id, message.text, message.attachments)
    present = messages.in_history(ctx)
    session.messages = [message for message in session.messages if message.id not in present]
    if kept:
        notify.inform(ctx, "Brought back", restoring.COPIED.format(name=kept))
    persist_chat.save_tmp_chat(ctx)
    if not point.saved and not point.is_background:  # the host writes no file of those
        journal.note_chat_saved(session.run.run_id)
    if chosen:
        journal.state_restored(session.run.run_id).result(waiting.PATIENT_S)
    documents.tell(session.activation, session.chat_id)
    notify.held_beside(session.activation, ctx)
    notify.refresh()


def point_of(active: Activation, run: Run) -> Point:
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


def _complete_chats(active: Activation) -> None:
    """What a process left undone when it ended: a chat behind its finished run (I6), a Stop that its chat was not told. Once."""
    from agent import AgentContext

    for run in (*active.journal.ended_in_last_boot(), *active.journal.stops_untold()):
        ctx = AgentContext.get(run.chat_id)
        if run.chat_id in active.sessions or (ctx is None and run.state is not RunState.STOPPED):
            continue
        match active.journal.begin_completion(run.run_id).result(waiting.PATIENT_S):
            case Completion.DUE:
                _complete(active, run, ctx)
                active.journal.end_completion(run.run_id).result(waiting.PATIENT_S)
            case Completion.GIVEN_UP:
                notify.write("A chat was not completed from its record: Agent Zero ended three times meanwhile. It stays as it is.")


def _complete(active: Activation, run: Run, ctx: Any | None) -> None:
    """A finished run's checkpoint is no authority over a chat that the host has: what goes wrong leaves the chat as it is."""
    try:
        session = Session(active, run, active.projector(run.chat_id), phase=Phase.ENDED)
        if run.state is RunState.STOPPED:
            _tell_stop(active, session, ctx)
        elif standing.is_behind(ctx, point := point_of(active, run)):
            rebuild_chat(session, point)
    except Unavailable:
        raise
    except Exception as error:
        notify.write(f"A chat was not completed from its record ({type(error).__name__}). It stays as the host has it.")


def _tell_stop(active: Activation, session: Session, ctx: Any | None) -> None:
    """A person's Stop counts also where the process ended before the chat was told: the next request must know what is unknown.

    A chat that the host had no file of yet went with the process and comes back; one that is missing otherwise was deleted.
    """
    run = session.run
    if ctx is not None and stopping.is_told(ctx, run):
        return
    known = [Message.of(item) for item in active.journal.inputs(run.run_id)]
    point = point_of(active, run)
    if ctx is None and (point.saved or point.is_background):
        return
    session.messages = list(known)  # what waited is shown: a person may still send it
    as_recorded = standing.problem(ctx, point, run, known, active.journal.calls(run.run_id)) is None
    if as_recorded:
        rebuild_chat(session, point)
    stopping.tell(active, session, session.context(), None, from_point=as_recorded)
