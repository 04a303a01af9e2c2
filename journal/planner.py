"""What happens next with a recorded call: one pure function for the resume, the scan and the panel's preview."""

from __future__ import annotations

from enum import Enum

from .evidence import Found
from .records import Call, HoldReason, Permission
from .replay import KEY_UNTIL, Allowlist, Policy, Repeat, policy_for


class Next(Enum):
    """What may happen with a recorded call without asking a person."""

    SERVE = "serve"
    ALLOWED = "allowed"
    REPLAY = "replay"
    CHECK = "check"
    RECONCILE = "reconcile"


def next_step(call: Call, now: Permission, allowlist: Allowlist, at: int, found: Found | None = None) -> Next | HoldReason:
    """CONTRACT §4, in order. Silence proves nothing (I3): what is not listed waits for a person.

    `at` is the moment of asking, `found` what a check answered, where one was asked.
    """
    if call.outcome is not None:
        return Next.SERVE
    if call.lossy and not call.key.kind.is_inference:
        # Before any permission: its real arguments are gone, so it can never be dispatched from the record.
        return HoldReason.MASKED_VALUE_LOST
    if call.allowance > 0:
        return Next.ALLOWED
    policy = policy_for(call.permission, now, allowlist)
    return (policy and _by_policy(call, policy, at, found)) or without_proof(call)


def _by_policy(call: Call, policy: Policy, at: int, found: Found | None) -> Next | None:
    match policy.repeat, found:
        case Repeat.SAFE, _:
            return Next.REPLAY
        case Repeat.IDEMPOTENT, _:
            # A key that the outside service has forgotten is a second payment.
            return Next.REPLAY if at < call.extra.get(KEY_UNTIL, 0) else None
        case Repeat.CHECKED, None:
            return Next.CHECK
        case Repeat.CHECKED, Found.DONE:
            return Next.RECONCILE
        case Repeat.CHECKED, Found.NOT_DONE:
            return Next.REPLAY
    return None


def without_proof(call: Call) -> HoldReason:
    """Why a call waits for a person that was begun and has no result."""
    return HoldReason.MODEL_INTERRUPTED if call.key.kind.is_inference else HoldReason.OUTCOME_UNKNOWN
