"""Running again without a person needs a reviewed policy and the very same source (I4), and the plan is one function."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from usr.plugins.durable_execution.bridge.policies import POLICIES

from journal.evidence import Found
from journal.planner import Next, next_step
from journal.records import Call, CallKey, CallKind, HoldReason, Outcome, Permission
from journal.replay import KEY_UNTIL, NOTHING, Policy, Repeat, idempotency_key, policy_for

PINNED = Permission("response", "a" * 64)
KEYED = Permission("pay", "a" * 64)
CHECKED = Permission("note", "a" * 64)
ALLOWLIST = {"response": Policy(""), "pay": Policy("", Repeat.IDEMPOTENT), "note": Policy("", Repeat.CHECKED)}
NOW = 1000


def test_the_reviewed_policies_of_agent_zero_are_these() -> None:
    assert set(POLICIES) == {"call_subordinate", "durable_plan", "parallel", "response", "wait"}
    assert {policy.repeat.value for policy in POLICIES.values()} == {"safe"}
    assert [name for name, policy in POLICIES.items() if policy.through] == ["call_subordinate"]


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
    assert (policy_for(recorded, now, ALLOWLIST) is not None) is expected
    assert policy_for(recorded, now, NOTHING) is None


def call(
    kind: CallKind,
    *,
    outcome: Outcome | None = None,
    lossy: bool = False,
    allowance: int = 0,
    permission: Permission,
    **more: Any,
) -> Call:
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
        **more,
    )


EVERYTHING = list(itertools.product(CallKind, [None, *Outcome], [False, True], [0, 1, 3], [Permission(), PINNED], [Permission(), PINNED]))


@pytest.mark.parametrize(("kind", "outcome", "lossy", "allowance", "recorded", "now"), EVERYTHING)
def test_the_plan_for_every_kind_of_record(
    kind: CallKind, outcome: Outcome | None, lossy: bool, allowance: int, recorded: Permission, now: Permission
) -> None:
    found = next_step(call(kind, outcome=outcome, lossy=lossy, allowance=allowance, permission=recorded), now, ALLOWLIST, NOW)

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


@pytest.mark.parametrize(
    ("until", "expected"), [(NOW + 1, Next.REPLAY), (NOW, HoldReason.OUTCOME_UNKNOWN), (None, HoldReason.OUTCOME_UNKNOWN)]
)
def test_an_idempotent_call_repeats_as_long_as_its_key_is_remembered(until: int | None, expected: Next | HoldReason) -> None:
    cut_off = call(CallKind.TOOL, permission=KEYED, extra={KEY_UNTIL: until} if until else {})

    assert next_step(cut_off, KEYED, ALLOWLIST, NOW) is expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, Next.CHECK),
        (Found.DONE, Next.RECONCILE),
        (Found.NOT_DONE, Next.REPLAY),
        (Found.UNKNOWN, HoldReason.OUTCOME_UNKNOWN),
    ],
)
def test_a_check_decides_and_its_doubt_asks_a_person(found: Found | None, expected: Next | HoldReason) -> None:
    assert next_step(call(CallKind.TOOL, permission=CHECKED), CHECKED, ALLOWLIST, NOW, found) is expected


@pytest.mark.parametrize("permission", [Permission(), PINNED, KEYED])
def test_what_a_check_found_counts_only_for_a_call_that_was_declared_checked(permission: Permission) -> None:
    cut_off = call(CallKind.TOOL, permission=permission)

    assert next_step(cut_off, permission, ALLOWLIST, NOW, Found.DONE) is next_step(cut_off, permission, ALLOWLIST, NOW)


def test_a_key_is_the_same_for_every_attempt_and_another_for_another_place_run_or_argument() -> None:
    first = call(CallKind.TOOL, permission=KEYED)
    others = [call(CallKind.DELIVERY, permission=KEYED), replace(first, identity="j"), replace(first, run_id="s")]  # type: ignore[arg-type]

    assert idempotency_key(replace(first, attempts=3, call_id="d", token=9)) == idempotency_key(first)  # type: ignore[arg-type]
    assert len({idempotency_key(each) for each in [first, *others]}) == 4
