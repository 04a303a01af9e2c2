"""A project or an agent profile may be switched off by itself: then the host calls no hook of ours for its agents.

The switch refuses while a run of such an agent is at work. Laid by hand it is noticed at the next model call, whose
hooks do not depend on an agent, and the run is held: no step passes unseen, or it is the last (`unrecorded_step`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError
from ..journal.ids import CallId
from ..journal.records import HoldReason
from . import agents, notify, paths, waiting
from .bindings import bound
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

SWITCHED_OFF = (
    "Durable Execution was switched off for this chat's project or agent profile while its run was under way. A step may have passed "
    "without a record. Switch it on there before you let the run go on, or stop the run."
)


def is_missing(session: Session) -> bool:
    """Whether the steps of the agent that is at work in this chat would pass unseen."""
    ctx = session.context()
    return ctx is not None and not paths.is_switched_on_for(ctx.get_agent())


async def check(call_id: CallId | None = None) -> None:
    """Before and after each model call of a recorded coroutine. Raises the silent exception once the run is held.

    `call_id` is the call at which the run may start over; else it does so at its last resume point.
    """
    binding = bound.get()
    if binding is None or not binding.is_current or not binding.session.activation.is_on or not is_missing(binding.session):
        return
    session = binding.session
    try:
        held = await waiting.durable(
            lambda: session.activation.journal.hold_run(session.run.run_id, HoldReason.UNRECORDED_STEP, call_id=call_id, text=SWITCHED_OFF),
            session.note_store,
        )
    except JournalError as error:
        raise notify.stopped(str(error)) from error
    session.fence(held)
    session.fresh = False
    session.wait_for_person(held)
    raise notify.stopped(SWITCHED_OFF)


def hold(session: Session, *, patient: bool = False) -> None:
    """The same for a run that is about to be set going: nothing of it is started. `patient` in threads of our own only."""
    future = session.activation.journal.hold_run(session.run.run_id, HoldReason.UNRECORDED_STEP, text=SWITCHED_OFF)
    held = future.result(waiting.PATIENT_S) if patient else waiting.commit(future)
    session.fresh = False
    session.wait_for_person(held)


def of_scope(active: Activation, project: str, profile: str) -> list[Session]:
    """Runs at work with an agent of this project or profile."""
    return [session for session in active.running() if _is_in(session.context(), project, profile)]


def _is_in(ctx: Any, project: str, profile: str) -> bool:
    if ctx is None or (project and ctx.get_data("project") != project):
        return False
    return not profile or any(agent.config.profile == profile for agent in agents.of_chat(ctx))
