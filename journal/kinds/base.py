"""What a kind of document says about itself: its shape, its limits, and how two versions of it differ.

A kind is a few pure functions over plain values. It reads and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

type Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a document in two versions. A side that is None does not have the part."""

    id: str
    mine: Value | None
    stored: Value | None
    mine_did: Sequence[str] = ()
    stored_did: Sequence[str] = ()
    """What each side did to the part since the version that both began with, in words: added, removed, changed, …"""

    @property
    def differs(self) -> bool:
        return self.mine != self.stored or "moved" in (*self.mine_did, *self.stored_did)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of document. A chat has at most one of each."""

    name: str
    most_bytes: int
    empty: Mapping[str, Any]
    """What stands where nothing was ever saved."""
    check: Callable[[Any], Value]
    """The value, if it has the shape; raises DoesNotFit with what is wrong and what is allowed."""
    title: Callable[[Value], str]
    compare: Callable[[Value | None, Value, Value], Sequence[Part]]
    """Two versions part by part, from the version that both began with (None: it is not kept any more)."""
    merge: Callable[[Value | None, Value, Value], Value]
    """A proposal that has the changes of both; where both changed the same, what "mine" says."""
