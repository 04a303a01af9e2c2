"""How many launched runs may be short of their cursor at the same time; a suspect goes alone (I10).

Whoever waits too long goes on beside the one that is stuck: a slow model must not close the other chats.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

PATIENCE_S = 120.0


class Turnstile:
    """`enter` waits for a turn and answers with what gives it back."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._change = threading.Condition()
        self._inside: dict[object, bool] = {}  # ticket: goes alone

    def enter(self, *, alone: bool, patience: float = PATIENCE_S) -> Callable[[], None]:
        ticket = object()
        with self._change:
            self._change.wait_for(lambda: self._may_enter(alone), timeout=patience)
            self._inside[ticket] = alone
        return lambda: self._leave(ticket)

    def _may_enter(self, alone: bool) -> bool:
        if alone:
            return not self._inside
        return len(self._inside) < self._most and not any(self._inside.values())

    def _leave(self, ticket: object) -> None:
        with self._change:
            self._inside.pop(ticket, None)
            self._change.notify_all()
