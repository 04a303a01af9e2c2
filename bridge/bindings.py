"""Which run a coroutine of the host works for, and in which of its lives. Context variables: copied by every task that it starts.

A coroutine that was replaced finds out here (I11). Nothing here moves a run.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..journal.records import Call, CallKey
from . import notify
from .session import Phase, Session


@dataclass(frozen=True, slots=True)
class Binding:
    """What a coroutine of the host carries: which run it works for, and in which life."""

    session: Session
    generation: int

    @property
    def is_current(self) -> bool:
        return self.session.phase in (Phase.RUNNING, Phase.PARKED) and self.session.generation == self.generation


bound: ContextVar[Binding | None] = ContextVar("durable_execution_bound", default=None)
starting_call: ContextVar[tuple[Session, Call] | None] = ContextVar("durable_execution_starting", default=None)
"""The call whose effect starts jobs right now, and the run that it belongs to."""
current_call: ContextVar[tuple[CallKey, Any] | None] = ContextVar("durable_execution_call", default=None)


def of_agent(agent: Any) -> Session | None:
    """The session that records this agent's steps here and now, or None. Whoever asks has looked at the switch.

    Raises the host's silent exception for a coroutine that was replaced: it must
    neither write nor start an effect (fencing).
    """
    binding = bound.get()
    if binding is None or agent is None or not binding.session.works_in(agent.context):
        return None
    if binding.session.activation.closed:
        return None
    if not binding.is_current:
        raise notify.stopped("This turn was replaced by a newer one.")
    return binding.session if binding.session.position.path_of(agent) is not None else None
