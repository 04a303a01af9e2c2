"""Values that break others, as recipes: plain data that says how to build them, in this process or in another one."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import types
import uuid
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from journal.values import Opaque

Recipe = tuple[Any, ...]

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no description")

    __str__ = __repr__


class Silent:
    def __repr__(self) -> Any:
        return None


class BrokenList(list[Any]):
    def __iter__(self) -> Any:
        raise RuntimeError("no items")


class BrokenDict(dict[Any, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


class FrozenDict(dict[Any, Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return 1


class BrokenText(str):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Pretender:
    """Says that it is a text, as lazy proxies do."""

    @property
    def __class__(self) -> Any:
        return str

    def __repr__(self) -> str:
        return "Pretender"


class Moody:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class NoName(type):
    @property
    def __module__(cls) -> Any:
        raise RuntimeError("no module")


class Nameless(metaclass=NoName):
    def __repr__(self) -> str:
        return "Nameless"


class Lone:
    def __repr__(self) -> str:
        return "half \ud83d of a pair, and \0"


class Word(enum.StrEnum):
    YES = "yes"


class Number(enum.IntEnum):
    SEVEN = 7


@dataclasses.dataclass
class Point:
    x: Any


Pair = collections.namedtuple("Pair", "left right")


class Model:
    """Has the face of a pydantic model: fields, a repr that names them, and a dump."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_dump(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __repr__(self) -> str:
        return f"Model({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


def released() -> memoryview:
    view = memoryview(b"gone")
    view.release()
    return view


def circular_error() -> Exception:
    error = ValueError("round")
    error.args = ("round", error)
    error.__cause__ = error
    return error


ODD: dict[str, Callable[[], Any]] = {
    "broken": Broken,
    "silent": Silent,
    "broken list": lambda: BrokenList([1]),
    "broken dict": lambda: BrokenDict(a=1),
    "frozen dict": lambda: FrozenDict(a=1),
    "broken text": lambda: BrokenText("t"),
    "pretender": Pretender,
    "moody": Moody,
    "nameless": Nameless,
    "lone": Lone,
    "word": lambda: Word.YES,
    "number": lambda: Number.SEVEN,
    "pair": lambda: Pair(1, b"r"),
    "range": lambda: range(3),
    "complex": lambda: complex(math.nan, 1),
    "object": object,
    "type": lambda: int,
    "module": lambda: math,
    "function": lambda: len,
    "lambda": lambda: lambda: None,
    "generator": lambda: (each for each in ()),
    "bytearray": lambda: bytearray(b"\xff"),
    "view": lambda: memoryview(b"abcdef")[::2],
    "released view": released,
    "proxy": lambda: types.MappingProxyType({"a": 1}),
    "ordered": lambda: collections.OrderedDict(b=1, a=2),
    "deque": lambda: collections.deque([1, 2]),
    "decimal": lambda: decimal.Decimal("1e400"),
    "not a decimal": lambda: decimal.Decimal("sNaN"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "path": lambda: pathlib.PurePosixPath("/a/b"),
    "uuid": lambda: uuid.UUID(int=1),
    "delta": lambda: datetime.timedelta.max,
    "zone": lambda: datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    "ellipsis": lambda: ...,
    "opaque": lambda: Opaque("kind", "text \ud800"),
    "circular error": circular_error,
    "group": lambda: ExceptionGroup("many", [ValueError({"a", "b", "c", "d"}), OSError(2, "no")]),
    "wide set": lambda: {10**5000, "b", "c"},
    "nested sets": lambda: {frozenset("abcdef"), ("x", frozenset("ghijkl"))},
}


def build(recipe: Recipe) -> Any:
    """The value that a recipe describes; each call makes a new one."""
    kind, *parts = recipe
    match kind:
        case "is":
            return parts[0]
        case "power":
            return parts[0] ** parts[1]
        case "date":
            return datetime.date.fromordinal(parts[0])
        case "long":
            return parts[0] * parts[1]
        case "image":
            return PNG + bytes(parts[0])
        case "odd":
            return ODD[parts[0]]()
        case "list" | "tuple" | "set" | "error" | "cycle":
            return _collected(kind, [build(part) for part in parts[0]])
        case "dict":
            return {_key(build(name)): build(value) for name, value in parts[0]}
        case "model":
            return Model(**{f"field{at}": build(part) for at, part in enumerate(parts[0])})
        case "point":
            return Point(build(parts[0]))
        case "deep":
            return _deep(parts[0], parts[1], build(parts[2]))
    raise AssertionError(kind)


def _collected(kind: str, items: list[Any]) -> Any:
    match kind:
        case "tuple":
            return tuple(items)
        case "set":
            return {_key(item) for item in items}
        case "error":
            return ValueError(*items)
        case "cycle":
            items.append({"again": items})
    return items


def _key(value: Any) -> Any:
    if type(value) in (list, tuple):
        return tuple(_key(item) for item in value)
    try:
        hash(value)
    except Exception:
        return repr(type(value))
    return frozenset(value) if type(value) is set else value


def _deep(kind: str, depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = {"list": lambda inner: [inner], "dict": lambda inner: {"k": inner}, "odd dict": lambda inner: {1: inner}}[kind](value)
    return value


def _is(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Recipe]:
    return st.tuples(st.just("is"), values)


ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=30)
LEAVES = st.one_of(
    _is(st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(max_size=40)),
    st.tuples(st.just("odd"), st.sampled_from(sorted(ODD))),
    st.tuples(st.just("power"), st.sampled_from([-7, 2, 10]), st.sampled_from([63, 64, 511, 513, 1025, 5001])),
    st.tuples(st.just("date"), st.integers(1, 3_000_000)),
    st.tuples(st.just("image"), st.sampled_from([0, 100, 70_000])),
    st.tuples(st.just("long"), st.sampled_from(["x", "\ud800", "é\n", b"\xff"]), st.sampled_from([65_535, 65_537])),
)


def _composed(inner: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
    some = st.lists(inner, max_size=4)
    return st.one_of(
        st.tuples(st.sampled_from(["list", "tuple", "set", "error", "cycle"]), some),
        st.tuples(st.just("dict"), st.lists(st.tuples(inner, inner), max_size=4)),
        st.tuples(st.just("dict"), st.lists(st.tuples(_is(ANY_TEXT | st.just("$")), inner), max_size=4)),
        st.tuples(st.just("model"), some),
        st.tuples(st.just("point"), inner),
        st.tuples(st.just("deep"), st.sampled_from(["list", "dict", "odd dict"]), st.sampled_from([20, 198, 260]), inner),
    )


RECIPES: st.SearchStrategy[Recipe] = st.recursive(LEAVES, _composed, max_leaves=10)


def hides_a_set(recipe: Recipe, inside: bool = False) -> bool:
    """Whether a set stands inside an object whose class writes its own repr: its order is then out of our hands."""
    kind, *parts = recipe
    if inside and kind == "odd":
        return parts[0] in ("group", "nested sets", "wide set", "circular error")
    inside = inside or kind in ("model", "point")
    inner = [part for part in parts if isinstance(part, tuple)] + [each for part in parts if isinstance(part, list) for each in part]
    if kind == "dict":
        inner = [each for pair in inner for each in pair]
    return (inside and (kind == "set" or "set" in str(parts))) or any(hides_a_set(each, inside) for each in inner)


def is_same(left: Any, right: Any) -> bool:
    """Equal in kind and value, all the way down; NaN is NaN and zero has its sign."""
    if type(left) is not type(right):
        return False
    match left:
        case float():
            return (left != left and right != right) or (left == right and math.copysign(1, left) == math.copysign(1, right))
        case list() | tuple():
            return len(left) == len(right) and all(map(is_same, left, right))
        case dict():
            return len(left) == len(right) and all(_has(right, name, value) for name, value in left.items())
    return bool(left == right)


def _has(found: dict[Any, Any], name: Any, value: Any) -> bool:
    return any(is_same(other, name) and is_same(item, value) for other, item in found.items())
