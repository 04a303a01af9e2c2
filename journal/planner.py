"""What happens next with a recorded call: one pure function for the resume, the scan and the panel's preview."""

from __future__ import annotations

from enum import Enum

from .evidence import Found
from .modes import CAREFUL, HOSTED_TOOLS, Mode
from .records import Call, CallKind, HoldReason, Permission
from .replay import KEY_UNTIL, Allowlist, Policy, Repeat, policy_for


class Next(Enum):
    """What may happen with a recorded call without asking a person."""

    SERVE = "serve"
    ALLOWED = "allowed"
    REPLAY = "replay"
    CHECK = "check"
    RECONCILE = "reconcile"
    REPORT = "report"
    RETRY = "retry"


def next_step(
    call: Call, now: Permission, allowlist: Allowlist, at: int, found: Found | None = None, mode: Mode = CAREFUL
) -> Next | HoldReason:
    """In the order of docs/architecture.md. Silence proves nothing (I3): what is not listed waits for a person, or as the run's mode says.

    `at` is the moment of asking, `found` what a check answered, where one was asked.
    """
    if call.outcome is not None:
        return Next.SERVE
    if call.lossy and not call.key.kind.is_inference:
        # Before any permission: its real arguments are gone, so it can never be dispatched from the record.
        return Next.REPORT if is_reported(call, mode) else HoldReason.MASKED_VALUE_LOST
    if call.allowance > 0:
        return Next.ALLOWED
    policy = policy_for(call.permission, now, allowlist)
    return (policy and _by_policy(call, policy, at, found)) or _by_mode(call, mode) or without_proof(call)


def _by_mode(call: Call, mode: Mode) -> Next | None:
    """What was chosen for the run. Nothing of it is repeated: the model is told, or asked once more."""
    if is_reported(call, mode):
        return Next.REPORT
    is_first = call.attempts == 1 and call.extra.get(HOSTED_TOOLS) is False  # what a hosted tool did, nobody recorded
    return Next.RETRY if mode.retries and call.key.kind is CallKind.MODEL and is_first else None


def is_reported(call: Call, mode: Mode) -> bool:
    """A tool that was begun; what a person allowed, or what never started, is no news for a model."""
    return mode.reports and call.key.kind is CallKind.TOOL and call.attempts > 0 and call.allowance == 0


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
