"""Which finished runs go: a rule over facts, without a journal."""

from __future__ import annotations

import pytest

from journal.ids import Digest, RunId
from journal.pins import Pins
from journal.retention import Finished, Policy, due

DAY = 86_400_000
NOW = 1_800_000_000_000


def run(number: int, days: float = 40, **bonds: bool) -> Finished:
    return Finished(RunId(f"run_{number:03d}"), int(NOW - days * DAY), **bonds)


def gone(finished: list[Finished], runs: int = 2, days: int = 30) -> list[str]:
    return [each.run_id[-3:] for each in due(finished, Policy(runs, days), NOW)]


def test_a_run_goes_when_it_is_neither_among_the_newest_nor_young() -> None:
    old, young = [run(number, 50 - number) for number in range(4)], [run(number, 5) for number in range(4, 8)]

    assert gone(old + young) == ["000", "001", "002", "003"]
    assert gone(old) == ["000", "001"]
    assert gone(young) == []


def test_the_order_in_which_they_are_told_does_not_matter() -> None:
    finished = [run(number, 50 - number) for number in range(6)]

    assert gone(finished[::-1]) == gone(finished) == ["000", "001", "002", "003"]


def test_runs_that_ended_in_the_same_moment_are_told_apart_by_their_names() -> None:
    assert gone([run(3), run(1), run(2)], runs=2) == ["001"]


def test_a_run_is_as_old_as_its_end() -> None:
    assert gone([run(1, 30.01)], runs=0) == ["001"]
    assert gone([run(1, 29.99)], runs=0) == []
    assert gone([run(1, -3)], runs=0) == [], "a clock that went back makes nothing old"


@pytest.mark.parametrize("bond", ["is_head", "has_messages", "in_conflict"])
def test_what_has_a_reason_to_stay_stays_and_takes_a_place(bond: str) -> None:
    assert gone([run(0, 50, **{bond: True}), run(1), run(2, 39), run(3, 38)]) == ["001"]


def test_nothing_is_removed_while_nobody_collects() -> None:
    assert Pins().is_named("a")


def test_what_is_named_since_the_collection_began_stays() -> None:
    pins = Pins()
    pins.note("before")
    pins.begin()
    pins.note("since")

    assert [pins.is_named(digest) for digest in ("before", "since", "never")] == [False, True, False]
    pins.end()
    assert pins.is_named("never")


def test_what_a_chat_counts_on_stays_until_it_is_forgotten() -> None:
    pins = Pins()
    pins.begin()
    known = pins.known("chat")
    known.add(Digest("a"))

    assert pins.is_pinned(Digest("a"))
    pins.forget("chat")
    pins.forget("another")
    assert not pins.is_pinned(Digest("a"))
    assert pins.known("chat") is known
