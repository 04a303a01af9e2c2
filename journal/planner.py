"""What happens next with a recorded call: one pure function for the resume, the scan and the panel's preview."""

from __future__ import annotations

from enum import Enum

from .records import Call, HoldReason, Permission
from .replay import may_replay


class Next(Enum):
    """What may happen with a recorded call without asking a person."""

    SERVE = "serve"
    ALLOWED = "allowed"
    REPLAY = "replay"


def next_step(call: Call, now: Permission) -> Next | HoldReason:
    """CONTRACT §4, in order. Silence proves nothing (I3): what is not listed waits for a person."""
    if call.outcome is not None:
        return Next.SERVE
    if call.lossy and not call.key.kind.is_inference:
        # Before any permission: its real arguments are gone, so it can never be dispatched from the record.
        return HoldReason.MASKED_VALUE_LOST
    if call.allowance > 0:
        return Next.ALLOWED
    if may_replay(call.permission, now):
        return Next.REPLAY
    return HoldReason.MODEL_INTERRUPTED if call.key.kind.is_inference else HoldReason.OUTCOME_UNKNOWN
