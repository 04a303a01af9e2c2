"""The plan of a chat: a title and items with id, text and done. Its shape, its limits, and how two plans differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import DoesNotFit
from .base import Kind, Part, Value

MOST_ITEMS = 100
MOST_BYTES = 64 * 1024
MOST_TITLE = 200
MOST_TEXT = 2000
MOST_ID = 64

_SHAPE = 'A plan is {"title": text, "items": [{"id": text, "text": text, "done": true or false}]}.'
_TITLE = ""
"""The title is compared like an item; no item has this id."""


# -- shape --------------------------------------------------------------------------------------


def check(value: Any) -> Value:
    _is_object(value, "value", {"title", "items"})
    title = _text(value["title"], "title", least=0, most=MOST_TITLE)
    items = value["items"]
    if not isinstance(items, list):
        raise DoesNotFit("items", f"It is {_kind_of(items)}.", _SHAPE)
    if len(items) > MOST_ITEMS:
        raise DoesNotFit("items", f"There are {len(items)} items.", f"At most {MOST_ITEMS} items are allowed.")
    checked = [_item(item, f"items[{number}]") for number, item in enumerate(items)]
    _ids_differ(checked)
    return {"title": title, "items": checked}


def _item(item: Any, where: str) -> Value:
    _is_object(item, where, {"id", "text", "done"})
    if not isinstance(item["done"], bool):
        raise DoesNotFit(f"{where}.done", f"It is {_kind_of(item['done'])}.", "Allowed is true or false.")
    return {
        "id": _text(item["id"], f"{where}.id", least=1, most=MOST_ID, lines=False),
        "text": _text(item["text"], f"{where}.text", least=1, most=MOST_TEXT),
        "done": item["done"],
    }


def _ids_differ(items: Sequence[Value]) -> None:
    first: dict[str, int] = {}
    for number, item in enumerate(items):
        before = first.setdefault(item["id"], number)
        if before != number:
            raise DoesNotFit(f"items[{number}].id", f"items[{before}] has the same id.", "Each item needs an id of its own.")


def _is_object(value: Any, where: str, keys: set[str]) -> None:
    if not isinstance(value, dict):
        raise DoesNotFit(where, f"It is {_kind_of(value)}.", _SHAPE)
    missing, unknown = sorted(keys - value.keys()), sorted(str(key) for key in value.keys() - keys)
    if missing:
        raise DoesNotFit(f"{where}.{missing[0]}", "It is missing.", _SHAPE)
    if unknown:
        raise DoesNotFit(where, f"{len(unknown)} of its fields are not known.", f"Allowed are {', '.join(sorted(keys))}.")


def _text(value: Any, where: str, *, least: int, most: int, lines: bool = True) -> str:
    allowed = f"Allowed are {least} to {most} characters{'' if lines else ' in one line'}."
    if not isinstance(value, str):
        raise DoesNotFit(where, f"It is {_kind_of(value)}.", allowed)
    if not least <= len(value) <= most:
        raise DoesNotFit(where, f"It has {len(value)} characters.", allowed)
    if least and not value.strip():
        raise DoesNotFit(where, "It is blank.", allowed)
    if not lines and not value.isprintable():
        raise DoesNotFit(where, "It has a line break or a control character.", allowed)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise DoesNotFit(where, "It has half of a character.", "Allowed is any valid text.")
    return value


def _kind_of(value: Any) -> str:
    """What was found, without quoting it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
    return f"a {type(value).__name__}"


# -- two versions -------------------------------------------------------------------------------


def compare(base: Value | None, mine: Value, stored: Value) -> list[Part]:
    """The title, then the items in the stored order, with what only one side has at its place."""
    sides = {name: _parts(plan) for name, plan in (("mine", mine), ("stored", stored))}
    began = None if base is None else _parts(base)
    moved = {name: _moved(base or stored, plan) for name, plan in (("mine", mine), ("stored", stored))}
    rows = []
    for part in [_TITLE, *_places(_ids(stored), _ids(mine))]:
        before = sides["stored"].get(part) if began is None else began.get(part)
        did = {name: _did(before, parts.get(part), part in moved[name]) for name, parts in sides.items()}
        rows.append(Part(part, sides["mine"].get(part), sides["stored"].get(part), did["mine"], did["stored"]))
    return rows


def merge(base: Value | None, mine: Value, stored: Value) -> Value:
    """The stored plan with the changes of mine in it. What both changed is as mine has it; what one of them changed
    and the other removed stays.
    """
    began, ours, theirs = (_parts(plan) if plan else {} for plan in (base, mine, stored))
    ordered = (_ids(mine), _ids(stored)) if base is not None and _moved(base, mine) else (_ids(stored), _ids(mine))
    items = []
    for part in _places(*ordered):
        kept = _merged(began.get(part), ours.get(part), theirs.get(part))
        if kept is not None:
            items.append(kept)
    title = _pick(began.get(_TITLE), ours[_TITLE], theirs[_TITLE], "text")
    return {"title": title, "items": items[:MOST_ITEMS]}


def _merged(before: Value | None, mine: Value | None, stored: Value | None) -> Value | None:
    if mine is None or stored is None:
        left = stored if mine is None else mine
        return None if left == before else left
    return {"id": mine["id"], **{key: _pick(before, mine, stored, key) for key in ("text", "done")}}


def _pick(before: Value | None, mine: Value, stored: Value, key: str) -> Any:
    return stored[key] if before is not None and mine[key] == before[key] else mine[key]


def _parts(plan: Value) -> dict[str, Value]:
    return {_TITLE: {"id": _TITLE, "text": plan["title"], "done": False}, **{item["id"]: item for item in plan["items"]}}


def _ids(plan: Value) -> list[str]:
    return [item["id"] for item in plan["items"]]


def _did(before: Value | None, after: Value | None, moved: bool) -> list[str]:
    if before is None or after is None:
        return [] if before is after else ["added"] if before is None else ["removed"]
    done = "done" if after["done"] else "not done"
    words = [("changed", before["text"] != after["text"]), (done, before["done"] != after["done"]), ("moved", moved)]
    return [word for word, holds in words if holds]


def _moved(before: Value, after: Value) -> set[str]:
    """The items that have another place among those that both have: as few as tell the new order."""
    common = set(_ids(before)) & set(_ids(after))
    rank = {part: number for number, part in enumerate(part for part in _ids(before) if part in common)}
    order = [part for part in _ids(after) if part in common]
    rows: list[list[str]] = []  # for each item the longest row of items in the old order that ends with it
    for at, part in enumerate(order):
        continued = [rows[earlier] for earlier in range(at) if rank[order[earlier]] < rank[part]]
        rows.append([*_longest(continued), part])
    return common - set(_longest(rows))


def _longest(rows: Sequence[list[str]]) -> list[str]:
    return max(rows, key=lambda row: len(row), default=[])


def _places(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """All ids in the first order; what only the second has comes after the one that it follows there."""
    order = list(first)
    known = set(first)
    for number, part in enumerate(second):
        if part in known:
            continue
        before = next((other for other in reversed(second[:number]) if other in known), None)
        order.insert(order.index(before) + 1 if before is not None else 0, part)
        known.add(part)
    return order


def _title(plan: Value) -> str:
    return str(plan["title"])


KIND = Kind(
    name="plan",
    most_bytes=MOST_BYTES,
    empty={"title": "", "items": []},
    check=check,
    title=_title,
    compare=compare,
    merge=merge,
)
