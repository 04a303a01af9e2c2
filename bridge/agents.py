"""Which agent of a chat works where in a run: the path that its calls are recorded under.

`A0` is the chat's first agent. The subordinate that it calls in its step 3, as tool call 1, works at `A0.3:1`, and the
one below at `A0.3:1.2:0`: a path names the call that made it, not an agent object. So a new subordinate never meets
the records of an older one, nor does one that is called again. An agent that a message reached directly works at its
own name, `A1`. Nothing here reads a journal or a chat's history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..journal.records import CallKey, CallKind

ROOT_PATH = "A0"


def of_chat(ctx: Any) -> Iterator[Any]:
    """The chat's agents, from the first down to the deepest subordinate."""
    agent = ctx.agent0
    while agent is not None:
        yield agent
        agent = agent.data.get("_subordinate")


def entered_at(number: int) -> dict[int, str]:
    """The paths by agent number of a turn whose message goes to this agent: its answer goes up to those above it."""
    return {each: f"A{each}" for each in range(number + 1)}


def below(key: CallKey) -> str:
    """The path of the subordinate that this call makes work."""
    return f"{key.path}.{key.step}:{key.ordinal}"


def opened_by(path: str) -> CallKey | None:
    """The call that made the agent of this path work; None for one that a message reached."""
    above, dot, place = path.rpartition(".")
    if not dot:
        return None
    step, _, ordinal = place.partition(":")
    return CallKey(above, int(step), CallKind.TOOL, int(ordinal))


def number_of(path: str) -> int:
    """The number of the agent that works at this path."""
    entered, *called = path.split(".")
    return int(entered.removeprefix("A")) + len(called)


def is_beyond(key: CallKey, position: Mapping[str, int]) -> bool:
    """Whether this call comes after the resume point with this position."""
    path, step = key.path, key.step
    while path not in position:
        opening = opened_by(path)
        if opening is None:
            return True
        path, step = opening.path, opening.step
    return step > position[path]
