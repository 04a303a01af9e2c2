"""How a turn becomes a run: one commit that is waited for, briefly, and then a session for it.

Whichever way a turn comes in, it begins here. An admission that was answered with a refusal never counts afterwards.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..journal.errors import CommitTimeout, JournalError
from ..journal.records import Admitted, ResumePoint, Run, RunState
from ..journal.recovery import Cut
from . import agents, notify, settings, suspension, waiting
from .messages import Message
from .position import Position
from .projection import Projector
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation


TOO_LATE = "refused: the journal answered too late"


def content_of(msg: Any) -> dict[str, Any]:
    return {"text": msg.message, "attachments": list(msg.attachments), "system": list(msg.system_message)}


def begin(active: Activation, ctx: Any, input_id: str, content: dict[str, Any], *, title: str, facts: dict[str, Any]) -> Session | None:
    """Admit a turn that comes in by another way than `communicate`; None if it was taken in before."""
    projector = active.projector(ctx.id)
    entered = agents.entered_at(0)
    point = projector.project(ctx, {}, paths=entered)
    admitted = _committed(active, active.journal.admit(ctx.id, input_id, content, title=title, mode=mode_of(ctx) | facts, point=point))
    return None if admitted.repeat else session_of(active, admitted.run, projector, point, entered)


def admit(active: Activation, ctx: Any, msg: Any, point: ResumePoint) -> Admitted:
    """Take in a message of a chat, with the first resume point of its run."""
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


def session_of(active: Activation, run: Run, projector: Projector, point: ResumePoint, entered: dict[int, str]) -> Session:
    """The session of a run that was just admitted, in force from here on."""
    projector.stored(point)
    session = Session(active, run, projector, generation=1, position=Position(entered))
    session.messages = [Message.of(item) for item in active.journal.waiting(run.chat_id)]
    active.add(session)
    return session


def begin_after_restart(active: Activation, session: Session) -> None:
    """Taken in while everything is suspended: it is recorded, begins after the restart, and its caller is let go."""
    run = session.run
    cut = Cut(active.suspension.by if active.suspension else "")
    future = active.journal.suspend_run(run.run_id, run.token, lambda call: call.permission, cut)
    with contextlib.suppress(JournalError):  # the message is recorded: without this its run goes on like after a crash
        session.run = waiting.commit(future)
    suspension.wait_for_restart(session)


def mode_of(ctx: Any) -> dict[str, str]:
    """How this run behaves, by the chat's project and profile as they are set now. What is set wrongly is said in the chat."""
    mode, problems = settings.mode_for(ctx.agent0)
    for problem in problems:
        ident = f"durable-setting-{problem}"
        if not any(item.id == ident for item in ctx.log.logs):
            notify.warn(ctx, "A setting of Durable Execution cannot be used", problem, ident)
    return mode


def _committed(active: Activation, future: Future[Admitted]) -> Admitted:
    try:
        return waiting.commit(future)
    except CommitTimeout:
        future.add_done_callback(lambda late: _withdraw(active, late))
        raise


def _withdraw(active: Activation, late: Future[Any]) -> None:
    """An admission that was answered with a refusal must not start to count afterwards."""
    if late.cancelled() or late.exception() is not None or late.result().repeat:
        return
    active.journal.stop_run(late.result().run.run_id, TOO_LATE, refused=True)


def is_orphan(active: Activation, run: Run) -> bool:
    """An admission of this very process that was committed and answered with a refusal: nothing of it ever ran."""
    mine = run.boot_id == active.journal.boot_id and run.chat_id not in active.sessions
    return mine and run.state is RunState.RUNNING and not active.journal.calls(run.run_id)
