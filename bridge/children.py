"""Child runs in this process: taken up after a restart, gone on with, closed, ended (`journal/children.py`).

A child works in a worker chat of the host. A subordinate's is a chat of its own, with resume points; a tool's is made
for it and gone with it, so its run stands in its parent's chat. Nobody launches a child but its job (`jobs.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError, RunEnded
from ..journal.masking import has_hidden
from ..journal.records import Call, Hold, HoldReason, Permission, Run, RunState
from ..journal.recovery import Restart
from . import notify, policies, standing, stopping, waiting
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

NO_PARENT = "The chat whose step started this job is gone. Nothing was brought back."


@dataclass(slots=True)
class Child:
    """What makes a run a child: the name and the chat by which its parent knows it, and the host's job, once there is one."""

    job_id: str
    above: str
    has_chat: bool
    job: Any = None


def session_of(active: Activation, run: Run, above: str, *, phase: Phase = Phase.HELD) -> Session:
    """The one session of this child in this process. `above` is the chat of its parent."""
    with active.lock:
        known = active.children.get(run.run_id)
        if known is not None:
            return known
        child = Child(str(run.input.get("job_id", "")), above, has_chat=run.chat_id != above)
        session = Session(active, run, active.projector(run.chat_id), phase=phase, generation=1, child=child)
        if not run.state.is_final:
            active.add(session)
        return session


# -- after a restart ----------------------------------------------------------------------------


def take_up(active: Activation, run: Run) -> Session:
    """A child without a saved state of a chat: nothing is rebuilt, and it waits for its job or for a person."""
    journal = active.journal
    session = active.children[run.run_id]
    next_ = Restart() if run.state is RunState.HELD else _next(active, session, run)
    if next_.ends:
        end(active, session, stopping.by_setting(active, run.run_id))
        return session
    settled = journal.settle(run.run_id, next_.hold).result(waiting.PATIENT_S)
    if settled.state is RunState.HELD:
        session.wait_for_person(settled)
    else:
        session.run, session.phase = settled, Phase.READY
    return session


def after_restart(active: Activation, run: Run) -> Restart:
    """What becomes of a run. What its parent waits for is not asked about, or ended, by itself."""
    journal = active.journal

    def now(call: Call) -> Permission:
        return policies.permission_now(active, call)

    if run.parent_call_id is None or stands_alone(active, run):
        return journal.after_restart(run.run_id, now)
    return Restart(journal.classify(run.run_id, now))


def _next(active: Activation, session: Session, run: Run) -> Restart:
    from agent import AgentContext

    assert session.child is not None
    if AgentContext.get(session.child.above) is None:
        return Restart(Hold(HoldReason.CHAT_GONE, text=NO_PARENT))
    ctx = session.context()
    if session.child.has_chat and ctx is not None and any(m.ai for m in ctx.agent0.history.all_messages()):
        return Restart(Hold(HoldReason.CHAT_MOVED_ON, text=standing.MOVED_ON))
    if has_hidden(run.input) and not active.journal.calls(run.run_id):
        return Restart(Hold(HoldReason.MASKED_VALUE_LOST))
    return after_restart(active, run)


def above_of(active: Activation, run: Run) -> str:
    """The chat of the run that started this one."""
    found = active.journal.parent(run)
    return found[0].chat_id if found is not None else run.chat_id


def stands_alone(active: Activation, run: Run) -> bool:
    """Nothing starts this job again: the call that started it has its result, or is no part of its run, or its run has ended."""
    found = active.journal.parent(run)
    if found is None:
        return False
    parent, call = found
    return parent.state.is_final or call.outcome is not None or call.abandoned


# -- ending -------------------------------------------------------------------------------------


def end(active: Activation, session: Session, run: Run) -> None:
    """A child was stopped: its coroutine is fenced, its task ended, its chat told."""
    was_parked, fresh, hold = session.phase is Phase.PARKED, session.fresh, session.run.hold
    session.end(run, "stopped", "This job was stopped.")
    notify.released(session, going_on=False)
    assert session.child is not None
    if session.child.job is not None and session.child.job.deferred_task is not None:
        session.child.job.deferred_task.kill()
    ctx = session.context()
    if session.child.has_chat and ctx is not None:
        stopping.tell(active, session, ctx, hold, from_point=fresh and not was_parked)
    active.journal.end_completion(run.run_id)


def end_stopped(active: Activation) -> None:
    """A Stop went down to the children of a run in one transaction: let this process know."""
    for session in list(active.children.values()):
        run = active.journal.run(session.run.run_id)
        if run.state is RunState.STOPPED:
            end(active, session, run)


def stop_of_chat(active: Activation, chat_id: str, origin: str) -> JournalError | None:
    """A person resets or deletes the chat: what its earlier runs left at work ends, too. Answers why one of them does not."""
    problem: JournalError | None = None
    for session in list(active.children.values()):
        if session.child is not None and session.child.above == chat_id:
            try:
                waiting.commit(active.journal.stop_run(session.run.run_id, origin))
            except RunEnded:
                continue  # a moment ago
            except JournalError as error:
                problem = error
    end_stopped(active)
    return problem
