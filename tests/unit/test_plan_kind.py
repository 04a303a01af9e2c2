"""The plan: what it may hold, how two plans differ in words, and what a merge of both proposes."""

from __future__ import annotations

from typing import Any

import pytest

from journal.errors import DoesNotFit
from journal.kinds import KINDS
from journal.kinds.plan import MOST_ITEMS, MOST_TEXT

PLAN = KINDS["plan"]


def item(name: str, text: str = "", done: bool = False) -> dict[str, Any]:
    return {"id": name, "text": text or f"do {name}", "done": done}


def plan(*items: dict[str, Any], title: str = "Release") -> dict[str, Any]:
    return {"title": title, "items": list(items)}


def said(base: Any, mine: Any, stored: Any) -> dict[str, tuple[list[str], list[str]]]:
    rows = PLAN.compare(base, mine, stored)
    return {row.id: (list(row.mine_did), list(row.stored_did)) for row in rows if row.mine_did or row.stored_did}


def test_a_whole_plan_is_taken_as_it_is() -> None:
    value = plan(item("a"), item("b", done=True), title="")

    assert PLAN.check(value) == value
    assert PLAN.check(dict(PLAN.empty)) == PLAN.empty


@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        (None, "value", "nothing"),
        ([], "value", "a list"),
        ({"title": "t"}, "value.items", "missing"),
        ({"title": "t", "items": [], "owner": "me"}, "value", "1 of its fields"),
        ({"title": 3, "items": []}, "title", "a number"),
        ({"title": "t" * 201, "items": []}, "title", "201 characters"),
        ({"title": "t", "items": {}}, "items", "an object"),
        (plan(item("a"), {"id": "b", "text": "b"}), "items[1].done", "missing"),
        (plan({"id": "a", "text": "a", "done": "yes"}), "items[0].done", "a text"),
        (plan({"id": "a", "text": "a", "done": 1}), "items[0].done", "a number"),
        (plan(item("")), "items[0].id", "0 characters"),
        (plan(item("a\nb")), "items[0].id", "line break"),
        (plan({"id": "a", "text": "  ", "done": False}), "items[0].text", "blank"),
        (plan(item("a", "x" * (MOST_TEXT + 1))), "items[0].text", f"{MOST_TEXT + 1} characters"),
        (plan(item("a", "half \ud800")), "items[0].text", "half of a character"),
        (plan(item("a"), item("a")), "items[1].id", "same id"),
        (plan(*(item(str(n)) for n in range(MOST_ITEMS + 1))), "items", "101 items"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_place_what_is_wrong_and_what_is_allowed(value: Any, field: str, words: str) -> None:
    with pytest.raises(DoesNotFit) as refused:
        PLAN.check(value)

    assert refused.value.field == field
    assert words in refused.value.found
    assert refused.value.allowed


def test_what_each_side_did_since_they_began_is_told_in_words() -> None:
    base = plan(item("a"), item("b"), item("c"), item("d"))
    mine = plan(item("a", done=True), item("b", "do b well"), item("d"), item("new"), title="Release 2")
    stored = plan(item("d"), item("a"), item("b"), item("c", done=True))

    assert said(base, mine, stored) == {
        "": (["changed"], []),
        "a": (["done"], []),
        "b": (["changed"], []),
        "c": (["removed"], ["done"]),
        "d": ([], ["moved"]),
        "new": (["added"], []),
    }


def test_without_the_common_beginning_the_versions_are_compared_with_each_other() -> None:
    assert said(None, plan(item("a", done=True), item("x")), plan(item("a"), item("b"))) == {
        "a": (["done"], []),
        "b": (["removed"], []),
        "x": (["added"], []),
    }


def test_a_merge_has_the_changes_of_both() -> None:
    base = plan(item("a"), item("b"), item("c"), item("d"))
    mine = plan(item("a", done=True), item("b"), item("mine"), item("d"))
    stored = plan(item("a", "do a first"), item("b", done=True), item("c"), item("stored"))

    merged = PLAN.merge(base, mine, stored)

    assert merged == plan(item("a", "do a first", done=True), item("b", done=True), item("mine"), item("stored"))


def test_what_one_removed_and_the_other_changed_stays_in_a_merge() -> None:
    base = plan(item("a"), item("b"))

    assert PLAN.merge(base, plan(item("b")), plan(item("a", "changed"), item("b"))) == plan(item("a", "changed"), item("b"))
    assert PLAN.merge(base, plan(item("a", done=True), item("b")), plan(item("b")))["items"] == [item("a", done=True), item("b")]


def test_a_merge_keeps_my_order_when_i_changed_it() -> None:
    base = plan(item("a"), item("b"), item("c"))

    merged = PLAN.merge(base, plan(item("c"), item("a"), item("b")), plan(item("a"), item("b", done=True), item("c"), item("d")))

    assert [each["id"] for each in merged["items"]] == ["c", "d", "a", "b"]
    assert merged["items"][3]["done"] is True


def test_a_merge_is_always_a_plan_that_may_be_saved() -> None:
    full = [item(f"m{n}") for n in range(MOST_ITEMS)]

    assert PLAN.check(PLAN.merge(plan(), plan(*full), plan(*(item(f"s{n}") for n in range(MOST_ITEMS)))))
