"""Everything that runs is put aside for a restart: records first, then waiting, always bounded (ADR 0020).

From the first moment no step begins. Streams of models are cut, effects under way get a grace period, and what they
leave unknown is held. Nothing here ends the process; what is put aside goes on at the next start, or when a person
takes the suspension back.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError
from ..journal.records import Call, Run, RunState
from ..journal.recovery import Cut
from ..journal.texts import summary
from . import jobs, launching, notify, policies
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

_LOOK_S = 0.05
_COMMIT_S = 1.0
MARGIN_S = 3.0  # beyond the grace period: whoever ends the process waits no longer than this


@dataclass(slots=True)
class Suspension:
    """One suspension: who asked, until when effects may end, whether all is put aside."""

    by: str
    since: int
    deadline: float
    hurry: threading.Event = field(default_factory=threading.Event)  # a second signal: no more grace
    settled: threading.Event = field(default_factory=threading.Event)
    lifted: bool = False
    held: list[str] = field(default_factory=list)  # runs whose step did not end in time

    def wait(self) -> bool:
        """Until everything is put aside, never longer than the grace period and a margin."""
        return self.settled.wait(max(self.deadline - time.monotonic(), 0) + MARGIN_S)


def begin(active: Activation, by: str) -> Suspension:
    """Put everything aside, in a thread of our own. Asked again it is the same suspension."""
    with active.lock:
        if active.suspension is not None:
            return active.suspension
        deadline = time.monotonic() + active.settings["suspend_grace_s"]
        active.suspension = now = Suspension(by, active.journal.clock.now(), deadline)
    threading.Thread(target=_work, args=(active, now), name="durable-suspend", daemon=True).start()
    return now


def lift(active: Activation) -> int:
    """No restart came: what was put aside goes on here and now. Answers how many runs do."""
    with active.lock:
        now = active.suspension
        if now is None:
            return 0
        now.lifted = True
        now.hurry.set()
    now.settled.wait(MARGIN_S)
    with active.lock:
        active.suspension = None
    ready = [session for session in list(active.sessions.values()) if session.phase is Phase.READY and session.child is None]
    launching.go_on(active, ready)
    return len(ready)


def view(active: Activation) -> dict[str, Any] | None:
    """What a person is told: whether it is safe to restart now, or what is still under way. JSON-ready, masked."""
    now = active.suspension
    if now is None:
        return None
    still_open = [_named(active, session, call) for session in _at_work(active) for call in _open_calls(active, session)]
    unrecorded = _unrecorded(active)
    safe = now.settled.is_set() and not still_open and not unrecorded
    waiting = sum(session.phase is Phase.READY for session in list(active.sessions.values()))
    return {
        "state": "suspended" if now.settled.is_set() else "suspending",
        "by": now.by,
        "since": now.since,
        "safe": safe,
        "text": _words(safe, now, still_open, unrecorded),
        "open": still_open,
        "unrecorded": unrecorded,
        "runs": waiting,
        "held": list(now.held),
    }


# -- the work --------------------------------------------------------------------------------------


def _work(active: Activation, now: Suspension) -> None:
    """Records first: what stands between two steps is put aside at once, then effects are waited for."""
    try:
        while not now.lifted and not active.closed:
            patient = time.monotonic() < now.deadline and not now.hurry.is_set()
            busy = [session for session in _at_work(active) if not _put_aside(active, session, now, patient=patient)]
            if not busy or not patient:
                break
            now.hurry.wait(_LOOK_S)
    except Exception as error:  # the process may end all the same: what is not put aside is recovered like after a crash
        notify.write(f"Not everything was suspended: {type(error).__name__}.")
    finally:
        now.settled.set()
        notify.refresh()


def _at_work(active: Activation) -> list[Session]:
    return [session for session in active.every() if session.phase is Phase.RUNNING]


def _put_aside(active: Activation, session: Session, now: Suspension, *, patient: bool) -> bool:
    """Move one run in the journal, fence its coroutine, then end it. False while an effect of it is under way."""
    with active.chat_lock(session.chat_id):
        if session.phase is not Phase.RUNNING or now.lifted:
            return True
        run, generation = session.run, session.generation
        if patient and _has_effect(active, session):
            return False
        cut = Cut(now.by, patient)
        asked = active.journal.suspend_run(run.run_id, run.token, lambda call: policies.permission_now(active, call), cut)
        try:
            moved = asked.result(_COMMIT_S)
        except (JournalError, TimeoutError):  # the journal does not answer: no step can begin either
            if not asked.cancel():  # what was not taken back may count later
                late = (active, session, generation, asked, now)
                threading.Thread(target=_follow, args=late, name="durable-suspend-late", daemon=True).start()
            return False
        return _stand(active, session, moved, now)


def _follow(active: Activation, session: Session, generation: int, asked: Future[Run], now: Suspension) -> None:
    """What the journal does too late counts here, too: else a run would wait there while it runs here."""
    wait([asked])
    while not active.closed:
        with active.chat_lock(session.chat_id):
            if session.phase is not Phase.RUNNING or session.generation != generation:
                return
            try:
                _stand(active, session, active.journal.run(session.run.run_id), now)
            except JournalError:
                pass  # not even to be read yet
            else:
                return
        time.sleep(_COMMIT_S)


def _stand(active: Activation, session: Session, moved: Run, now: Suspension) -> bool:
    """The run as the journal has it now: its coroutine is fenced and ended. False: it still runs."""
    if moved.state is RunState.RUNNING:
        return False
    if moved.state.is_final:
        return True  # it ended by itself just now
    task = jobs.cut_loose(session) if session.child is not None else getattr(session.context(), "task", None)
    session.fence(moved)
    session.fresh = False
    if moved.state is RunState.HELD:
        now.held.append(moved.run_id)
        session.wait_for_person(moved)
    else:
        wait_for_restart(session)
    if task is not None:
        task.kill()
    if active.suspension is not now and session.phase is Phase.READY and session.child is None:
        launching.go_on(active, [session])  # taken back while the journal was slow
    return True


def _has_effect(active: Activation, session: Session) -> bool:
    """A look that writes nothing; the journal itself decides."""
    return active.journal.is_at_work(session.run.run_id, lambda call: policies.permission_now(active, call))


def wait_for_restart(session: Session) -> None:
    """The run waits for the next start, or for the suspension to be taken back; its callers are let go."""
    session.phase = Phase.READY
    session.passed_cursor()
    session.say("suspended")
    notify.suspended(session)


# -- what is told ----------------------------------------------------------------------------------


def _open_calls(active: Activation, session: Session) -> list[Call]:
    return [call for call in active.journal.calls(session.run.run_id) if call.outcome is None and not call.abandoned]


def _named(active: Activation, session: Session, call: Call) -> dict[str, Any]:
    masker = active.journal.masker
    return {
        "run_id": session.run.run_id,
        "chat_id": session.chat_id,
        "title": masker.text(session.run.title),
        "name": call.name,
        "summary": summary(call.key.kind, call.name, masker.mask(call.arguments).value),
        "since": call.started_at,
    }


def _unrecorded(active: Activation) -> list[str]:
    """Chats at work that nothing is recorded of: a restart ends them as it always did."""
    from agent import AgentContext

    at_work = [ctx for ctx in AgentContext.all() if ctx.is_running() and ctx.id not in active.sessions]
    return [active.journal.masker.text(ctx.name or ctx.id) for ctx in at_work if ctx.id not in active.closing]


def _words(safe: bool, now: Suspension, still_open: list[dict[str, Any]], unrecorded: list[str]) -> str:
    if safe:
        left = f" {len(now.held)} run(s) had a step that was cut off and wait for your decision." if now.held else ""
        return f"Safe to restart now. What was suspended goes on by itself afterwards.{left}"
    if still_open:
        return f"Still at work: {'; '.join(call['summary'] for call in still_open)}."
    if unrecorded:
        return f"Everything that is recorded was suspended. These chats are not recorded and a restart ends them: {', '.join(unrecorded)}."
    return "Being suspended."
