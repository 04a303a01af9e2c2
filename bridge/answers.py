"""What the caller of a message gets: its turn's own end, what is recorded of it, or at once that it waits for a person.

It reads what is recorded and starts nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..journal.records import Input, InputState, Run, RunState
from . import notify
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

ANSWER_GONE = "This message was recorded and its run has ended; its answer is no longer kept. Nothing was started."
_ABOUT = {
    InputState.WAITING: notify.KEPT,
    InputState.DELIVERED: "This message was already delivered.",
    InputState.OFFERED: "This message was left over when its turn was stopped. Nobody has sent it yet: send or discard it in Recovery.",
    InputState.DISCARDED: "This message was left over when its turn was stopped, and was discarded. It was not sent.",
}
_LOOK_S = 5.0


async def of_turn(session: Session) -> Any:
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


def recorded(active: Activation, session: Session | None, record: Run | Input) -> Any:
    """A task that gives what is recorded of a message that was taken in before."""
    if isinstance(record, Run):
        return repeat(active, session, record)
    return active.answer(_ABOUT[record.state])


def repeat(active: Activation, session: Session | None, run: Run) -> Any:
    """The same for a message that began a run. `session` is the one that its chat has now."""
    if run.is_removed:
        return active.answer(ANSWER_GONE)
    if run.state is RunState.COMPLETED:
        return active.answer(str(run.answer or ""))
    if session is not None and session.run.run_id == run.run_id:
        return active.task(of_turn, session)
    return active.answer(f"This message was already handled; its run is {run.state.value}.")
