"""Names of things: typed ids and the one source of new ones.

New ids are ordered by time, so that a listing by id is a listing by age, also after the clock was set back. Nobody
else makes up an id.
"""

from __future__ import annotations

import secrets
import threading
import uuid
from collections.abc import Iterable
from typing import NewType

from .clock import Clock

RunId = NewType("RunId", str)
CallId = NewType("CallId", str)
ChatId = NewType("ChatId", str)
InputId = NewType("InputId", str)
Digest = NewType("Digest", str)
"""SHA-256 in lower-case hex."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80
_NAMES = uuid.UUID("6f1dbb5e-5b0c-5d6a-9a1e-4f6c2a8d7e31")
_TIME_BITS = 48
_LENGTH = 26
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS = range(120, -1, -10)


class Ids:
    """Makes ids such as `run_01j…`: milliseconds, then randomness; strictly increasing within one process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._last = 0

    def continue_after(self, known: Iterable[str]) -> None:
        """New ids come after these, which an earlier process made, whatever the clock says now."""
        with self._lock:
            self._last = max([self._last, *(_number(text) for text in known)])

    def new(self, prefix: str) -> str:
        with self._lock:
            fresh = (self._clock.now() << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
            self._last = fresh if fresh > self._last else self._last + 1
            return f"{prefix}_{_base32(self._last)}"


def named(*facts: str) -> str:
    """The same id for the same facts, in every process: a UUID, the form that services take for an idempotency key."""
    return str(uuid.uuid5(_NAMES, "\0".join(facts)))


def _base32(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def _number(text: str) -> int:
    """What `_base32` made; 0 for a text that is no id of ours, or one from the end of time."""
    digits = text.rpartition("_")[2]
    if len(digits) != _LENGTH or not set(digits) <= set(_ALPHABET):
        return 0
    number = 0
    for digit in digits:
        number = number * 32 + _ALPHABET.index(digit)
    return number if number >> _RANDOM_BITS < 1 << _TIME_BITS else 0
