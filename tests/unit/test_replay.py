"""Running again without a person needs a reviewed policy and the very same source (I4), and the plan is one function."""

from __future__ import annotations

import itertools

import pytest

from journal.planner import Next, next_step
from journal.records import Call, CallKey, CallKind, HoldReason, Outcome, Permission
from journal.replay import POLICIES, may_replay

PINNED = Permission("response", "a" * 64)


def test_the_reviewed_policies_are_these() -> None:
    assert set(POLICIES) == {"response", "wait"}


@pytest.mark.parametrize(
    ("recorded", "now", "expected"),
    [
        (PINNED, PINNED, True),
        (PINNED, Permission("response", "b" * 64), False),
        (PINNED, Permission("wait", "a" * 64), False),
        (PINNED, Permission(), False),
        (Permission(), PINNED, False),
        (Permission(), Permission(), False),
        (Permission("response", None), Permission("response", None), False),
        (Permission("shell", "a" * 64), Permission("shell", "a" * 64), False),
    ],
)
def test_policy_and_source_must_be_known_and_the_same(recorded: Permission, now: Permission, expected: bool) -> None:
    assert may_replay(recorded, now) is expected


def call(kind: CallKind, *, outcome: Outcome | None, lossy: bool, allowance: int, permission: Permission) -> Call:
    return Call(
        call_id="c",  # type: ignore[arg-type]
        run_id="r",  # type: ignore[arg-type]
        key=CallKey("A0", 1, kind, 0),
        name="n",
        identity="i",  # type: ignore[arg-type]
        arguments={},
        lossy=lossy,
        permission=permission,
        attempts=1,
        allowance=allowance,
        outcome=outcome,
        value=None,
        result_digest=None,
        error="",
        started_at=0,
        ended_at=None,
        seq=1,
        origin="ran",
        abandoned=False,
    )


EVERYTHING = list(itertools.product(CallKind, [None, *Outcome], [False, True], [0, 1, 3], [Permission(), PINNED], [Permission(), PINNED]))


@pytest.mark.parametrize(("kind", "outcome", "lossy", "allowance", "recorded", "now"), EVERYTHING)
def test_the_plan_for_every_kind_of_record(
    kind: CallKind, outcome: Outcome | None, lossy: bool, allowance: int, recorded: Permission, now: Permission
) -> None:
    found = next_step(call(kind, outcome=outcome, lossy=lossy, allowance=allowance, permission=recorded), now)

    effect = kind in (CallKind.TOOL, CallKind.DELIVERY)
    if outcome is not None:
        assert found is Next.SERVE
    elif effect and lossy:
        assert found is HoldReason.MASKED_VALUE_LOST
    elif allowance:
        assert found is Next.ALLOWED
    elif recorded == now == PINNED:
        assert found is Next.REPLAY
    else:
        assert found is (HoldReason.OUTCOME_UNKNOWN if effect else HoldReason.MODEL_INTERRUPTED)
