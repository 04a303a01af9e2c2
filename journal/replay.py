"""The allowlist: which calls may run again without a person (I4). Nothing labels itself safe.

A policy is a name here and a pinned source file per host version (UPSTREAM.json, looked at by the bridge).
An addition needs an ADR.
"""

from __future__ import annotations

from collections.abc import Mapping

from .records import Permission

POLICIES: Mapping[str, str] = {
    "response": "Hands the final answer to the chat, where no integration delivers it.",
    "wait": "Waits, at most until the recorded moment.",
}
"""Policies in force. `durable_plan`, `call_subordinate` and `parallel` come with child runs and documents."""


def may_replay(recorded: Permission, now: Permission) -> bool:
    """Whether a call begun under `recorded` may run again under `now`: same policy, same source, both known."""
    return (
        recorded.policy in POLICIES
        and recorded.policy == now.policy
        and recorded.source_digest is not None
        and recorded.source_digest == now.source_digest
    )
