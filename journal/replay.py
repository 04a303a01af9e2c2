"""What may run again without a person (I4). Nothing labels itself safe.

Whoever opens the journal hands in an allowlist of reviewed policies; Agent Zero's stands in `bridge/policies.py`.
A policy counts for one source: what was begun under another one is not allowed any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from .ids import named
from .records import Call, Permission


class Repeat(Enum):
    """Why a step may be repeated, as its author reviewed it."""

    SAFE = "safe"
    """It changes nothing outside, however often it runs."""
    IDEMPOTENT = "idempotent"
    """The service behind it does the work once for each key, as long as it remembers the key."""
    CHECKED = "checked"
    """A check can tell whether it happened; only "not done" lets it run again."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One line of an allowlist."""

    why: str
    repeat: Repeat = Repeat.SAFE
    idle: bool = False
    """It only lets time pass: a run that is there is no suspect when the process ends."""
    through: bool = False
    """Its work is done in calls of its own that are recorded: what was left unknown is theirs."""


type Allowlist = Mapping[str, Policy]

NOTHING: Allowlist = MappingProxyType({})

KEY_UNTIL = "key_until"
"""In the extra of an idempotent call: the moment (milliseconds UTC) up to which its key is remembered outside."""


def policy_for(recorded: Permission, now: Permission, allowlist: Allowlist) -> Policy | None:
    """The policy under which a call begun as `recorded` may run again: on the list, and from the very same source."""
    same = recorded.source_digest is not None and recorded == now
    return allowlist.get(recorded.policy) if same and recorded.policy is not None else None


def idempotency_key(call: Call) -> str:
    """The same for every attempt of a call, and for a call that stands again at the same place with the same arguments."""
    return named(call.run_id, call.key.text, call.identity)
