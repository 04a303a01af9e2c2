"""Values survive: as themselves where the journal has a word for them, else as a typed description."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import subprocess
import sys
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from journal import codec
from journal.errors import RecordCorrupt
from journal.values import MAX_DEPTH, Opaque


class Word(enum.StrEnum):
    YES = "yes"


class Number(enum.IntEnum):
    SEVEN = 7


@dataclass
class Point:
    x: int


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no description")


class BrokenList(list[int]):
    def __iter__(self) -> Any:
        raise RuntimeError("no items")


Pair = collections.namedtuple("Pair", "left right")

SAME = [
    None,
    True,
    False,
    0,
    -1,
    2**63,
    -(2**511),
    10**400,
    -(10**5000),
    0.1,
    -0.0,
    math.inf,
    -math.inf,
    5e-324,
    "",
    "plain",
    "NUL \0 and newline \n",
    "\ud800 alone",
    "\ud83d\ude00 two halves that are no pair",
    "\U0001f600 one",
    b"",
    b"\x00\xff",
    "long " * 50_000,
    "long \ud800" * 20_000,
    b"\xff" * 100_000,
    [],
    [1, [2, [3]]],
    {},
    {"a": {"b": [None]}},
    {"$": "a key like our tag"},
    {"$": {"$": "raw", "kind": "text", "at": 0, "size": 9}},
    {1: "int", 2.5: "float", None: "none", b"x": "bytes", (1, ("y",)): "tuple"},
    {"\ud800": 1},
    Opaque("kind", "text"),
    {"k" * 70_000: "long key"},
]

LIKE = [
    ((1, 2), [1, 2]),
    (Pair(1, "r"), [1, "r"]),
    (Word.YES, "yes"),
    (Number.SEVEN, 7),
    (bytearray(b"ab"), b"ab"),
    (memoryview(b"ab"), b"ab"),
    (collections.OrderedDict(a=1), {"a": 1}),
    (collections.defaultdict(list, a=[1]), {"a": [1]}),
]

DESCRIBED = [
    ({3, 1, 2}, "set", "{1, 2, 3}"),
    (frozenset("b"), "frozenset", "{'b'}"),
    (range(3), "range", "range(0, 3)"),
    (1 + 2j, "complex", "(1+2j)"),
    (datetime.date(2026, 1, 2), "datetime.date", "datetime.date(2026, 1, 2)"),
    (decimal.Decimal("1.10"), "decimal.Decimal", "Decimal('1.10')"),
    (fractions.Fraction(1, 3), "fractions.Fraction", "Fraction(1, 3)"),
    (pathlib.PurePosixPath("/a/b"), "pathlib.PurePosixPath", "PurePosixPath('/a/b')"),
    (uuid.UUID(int=1), "uuid.UUID", "UUID('00000000-0000-0000-0000-000000000001')"),
    (ValueError("no"), "ValueError", "ValueError('no')"),
    (int, "type", "<class 'int'>"),
    (Ellipsis, "ellipsis", "Ellipsis"),
]


def there_and_back(value: Any) -> Any:
    return codec.decode(codec.encode(value))


def is_same(left: Any, right: Any) -> bool:
    return (
        type(left) is type(right) and left == right and (not isinstance(left, float) or math.copysign(1, left) == math.copysign(1, right))
    )


@pytest.mark.parametrize("value", SAME, ids=lambda value: type(value).__name__)
def test_a_value_with_an_encoding_comes_back_as_itself(value: Any) -> None:
    assert is_same(there_and_back(value), value)
    assert there_and_back({"in": [value]}) == {"in": [value]}


def test_nan_comes_back_as_nan() -> None:
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize(("value", "expected"), LIKE, ids=lambda value: type(value).__name__)
def test_a_subclass_comes_back_as_its_plain_kind(value: Any, expected: Any) -> None:
    assert is_same(there_and_back(value), expected)


@pytest.mark.parametrize(("value", "kind", "text"), DESCRIBED, ids=lambda value: str(value)[:20])
def test_anything_else_keeps_its_type_and_what_it_looked_like(value: Any, kind: str, text: str) -> None:
    assert there_and_back([value]) == [Opaque(kind, text)]


def test_a_dataclass_and_an_object_are_described_without_their_address() -> None:
    class Thing:
        pass

    assert there_and_back(Point(3)).text == "Point(x=3)"
    assert codec.encode(Thing()) == codec.encode(Thing())


def test_an_object_that_cannot_be_described_is_still_there() -> None:
    assert there_and_back(Broken()) == Opaque(f"{__name__}.Broken", "(its description raised RuntimeError)")
    assert isinstance(there_and_back(BrokenList([1])), Opaque)
    assert isinstance(there_and_back({"deep": [{Broken()}]})["deep"][0], Opaque)


def test_a_cycle_ends_in_a_description_at_its_place() -> None:
    value: dict[str, Any] = {"name": "loop"}
    value["self"] = [value]

    assert there_and_back(value) == {"name": "loop", "self": [Opaque("dict", "{'name': 'loop', 'self': [{...}]}")]}


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = [1]

    assert there_and_back([shared, shared]) == [[1], [1]]


def test_too_deep_nesting_becomes_a_description_at_that_place() -> None:
    value: list[Any] = []
    for _ in range(MAX_DEPTH * 30):
        value = [value]

    restored = there_and_back(value)

    for _ in range(MAX_DEPTH):
        (restored,) = restored
    assert isinstance(restored, Opaque)


def test_two_keys_that_look_alike_do_not_swallow_each_other() -> None:
    class Key:
        def __repr__(self) -> str:
            return "key"

    restored = there_and_back({Key(): 1, Key(): 2})

    assert sorted(restored.values()) == [1, 2]


def test_the_order_of_keys_does_not_change_the_bytes() -> None:
    assert codec.encode({"b": 1, "a": {2: "x", 1: "y"}}) == codec.encode({"a": {1: "y", 2: "x"}, "b": 1})


def test_two_keys_that_are_too_long_for_the_line_have_one_order() -> None:
    one, other = "a" * 70_000, "b" * 70_000

    assert codec.encode({one: 1, other: 2}) == codec.encode({other: 2, one: 1})
    assert len(codec.encode({one: 1})) < 70_200


def test_a_key_that_only_a_subclass_could_make_spoils_nothing_beside_it() -> None:
    class Frozen(dict[str, int]):
        def __hash__(self) -> int:  # type: ignore[override]
            return 1

    restored = there_and_back({Frozen(a=1): "value", "beside": [1]})

    assert restored["beside"] == [1]
    assert sorted(map(str, restored.values())) == ["[1]", "value"]


def test_a_number_too_wide_for_decimals_is_described_inside_others() -> None:
    assert there_and_back({10**5000}) == Opaque("set", f"{{{10**5000:#x}}}")


def test_a_type_whose_name_cannot_be_read_is_still_there() -> None:
    class Meta(type):
        @property
        def __module__(cls) -> str:
            raise RuntimeError

    class Nameless(metaclass=Meta):
        def __repr__(self) -> str:
            return "nameless"

    assert there_and_back([Nameless()])[0].text == "nameless"


def test_two_processes_write_the_same_bytes() -> None:
    program = """import sys
sys.path.insert(0, sys.argv[1])
from journal import codec
letters = frozenset("abcdefgh")
error = ExceptionGroup("many", [ValueError(letters), KeyError(letters)])
print(codec.digest(codec.encode({"s": {"x", "y", "z", "w"}, "b": b"1", "sets": {letters, (1, letters)}, "error": error})))
"""
    root = str(pathlib.Path(codec.__file__).parent.parent)

    digests = {
        subprocess.run([sys.executable, "-c", program, root], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2", "3")
    }

    assert len(digests) == 1


def test_the_stored_form_does_not_change() -> None:
    value = {"b": [1, 2.5, None, True], "a": "é\n", "x": b"\x00", "n": math.inf, "o": Opaque("T", "t"), 1: 2}

    assert (
        codec.encode(value)
        == (
            '{"$":"dict","v":[["a","é\\n"],["b",[1,2.5,null,true]],["n",{"$":"float","v":"inf"}],'
            '["o",{"$":"opaque","text":"t","type":"T"}],["x",{"$":"bytes","v":"AA=="}],[1,2]]}'
        ).encode()
    )


def test_long_texts_and_bytes_are_stored_raw() -> None:
    text, data = '"\\\n' * 50_000, bytes(range(256)) * 400

    encoded = codec.encode({"text": text, "data": data})

    assert text.encode() in encoded
    assert data in encoded
    assert len(encoded) < len(text) + len(data) + 200


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"[1",
        b"NaN",
        b"\xff",
        b'{"$":"unknown"}',
        b'{"$":"bytes","v":"*"}',
        b'{"$":"raw","kind":"text","at":0,"size":5}\nabc',
        b'{"$":"raw","kind":"text","at":-1,"size":1}\nabc',
        b'{"$":"dict","v":[[{},1]]}',
        b"[" * 100_000,
    ],
)
def test_what_was_never_written_is_refused(data: bytes) -> None:
    with pytest.raises(RecordCorrupt):
        codec.decode(data)
