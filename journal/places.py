"""Where in a turn a step stands, in a name that people can read and say: `model:3`, `tool:3:0:call_9`.

A place counts the model calls that the turn has begun, and the steps of each kind since. It is the same in every
life of the turn, because the loop asks for its steps in the same order.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from .records import Call, CallKey, CallKind

PATH = "main"
_ID = "id"


@dataclass(frozen=True, slots=True)
class Place:
    """A call key, and the provider's own id of the call, where it has one."""

    key: CallKey
    id: str = ""

    def __str__(self) -> str:
        key = self.key
        if key.kind is CallKind.MODEL:
            return f"{key.kind.value}:{key.step}"
        return f"{key.kind.value}:{key.step}:{key.ordinal}{':' if self.id else ''}{self.id}"

    @property
    def extra(self) -> dict[str, Any]:
        """What is kept of it with the call, besides the key."""
        return {_ID: self.id} if self.id else {}


def step_id(call: Call) -> str:
    """The name of a recorded step."""
    return str(Place(call.key, str(call.extra.get(_ID, ""))))


class Counter:
    """Gives out the places of one turn, in the order in which the loop asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._step = 0
        self._ordinals: dict[CallKind, int] = {}

    def next(self, what: str) -> Place:
        """`what` is a kind of step, and for all but a model call, after a colon, the provider's id of the call."""
        word, _, id_ = what.partition(":")
        if word not in CallKind or (word == CallKind.MODEL.value and id_):
            kinds = ", ".join(kind.value for kind in CallKind)
            raise ValueError(f"{what!r} names no step; a kind is one of {kinds}, and tool:call_9 names a call of a tool")
        kind = CallKind(word)
        with self._lock:
            if kind is CallKind.MODEL:
                self._step += 1
                self._ordinals.clear()
                return Place(CallKey(PATH, self._step, kind))
            ordinal = self._ordinals.get(kind, 0)
            self._ordinals[kind] = ordinal + 1
            return Place(CallKey(PATH, self._step, kind, ordinal), id_)
