"""What a check saw of a step that was cut off: a reviewed, read-only look at the world before anything is repeated.

An answer is evidence and is kept with the call. `unknown` is the honest answer to every doubt: it asks a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

FROM_CHECK = "from_check"
"""In the extra of a call whose result a check handed in."""


class Found(Enum):
    DONE = "done"
    NOT_DONE = "not_done"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer of a check. `seen` says in words what it looked at and found."""

    found: Found
    value: Any = None
    seen: str = ""


def done(value: Any = None, seen: str = "") -> Finding:
    """It happened, and this is what it returned."""
    return Finding(Found.DONE, value, seen)


def not_done(seen: str = "") -> Finding:
    """It did not happen, and cannot happen any more: nothing of it is still on its way."""
    return Finding(Found.NOT_DONE, None, seen)


def unknown(seen: str = "") -> Finding:
    """The look proves nothing."""
    return Finding(Found.UNKNOWN, None, seen)
