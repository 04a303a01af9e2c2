"""Whatever a value is, it comes back as what was stored, the same in every process, and never as nothing."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal import codec, values
from journal.records import CallKind
from journal.texts import shown, summary
from journal.values import Opaque
from tests.support.examples import FULL, examples
from tests.support.values import RECIPES, Recipe, build, hides_a_set, is_same

pytestmark = pytest.mark.properties

PLAIN = (bool, int, float, str, bytes, list, dict, Opaque, type(None))


def is_plain(value: Any) -> bool:
    if type(value) not in PLAIN:
        return False
    if isinstance(value, list):
        return all(map(is_plain, value))
    return all(map(is_plain, value.values())) if isinstance(value, dict) else True


@examples(60)
@given(RECIPES)
def test_what_comes_back_is_the_plain_value(recipe: Recipe) -> None:
    value = build(recipe)
    plain, data = values.plain(value), codec.encode(value)

    assert is_plain(plain)
    assert is_same(codec.decode(data), plain)
    assert is_same(values.plain(plain), plain)
    assert codec.encode(plain) == data


@examples(60)
@given(RECIPES)
def test_nothing_becomes_none_and_nothing_is_left_out(recipe: Recipe) -> None:
    value = build(recipe)
    plain = values.plain(value)

    assert (plain is None) is (value is None)
    if type(value) in (list, tuple, dict) and type(plain) in (list, dict):
        assert len(plain) == len(value)
    if type(value) is list and type(plain) is list:
        assert [item is None for item in plain] == [item is None for item in value]


@examples(60)
@given(RECIPES, st.randoms(use_true_random=False))
def test_the_order_of_keys_changes_nothing(recipe: Recipe, chance: random.Random) -> None:
    value = values.plain(build(recipe))
    names = ["a" * 70_000, "b" * 70_000, "\ud800", 1, "1", "$", b"x"]
    chance.shuffle(names)

    assert codec.encode({name: value for name in names}) == codec.encode({name: value for name in sorted(names, key=repr)})


@examples(60)
@given(RECIPES)
def test_a_page_can_show_it(recipe: Recipe) -> None:
    plain = values.plain(build(recipe))

    json.dumps(shown(plain), allow_nan=False).encode()
    summary(CallKind.TOOL, "tool", plain).encode("utf-8", "surrogatepass")
    summary(CallKind.TOOL, "tool", {"a": plain}).encode("utf-8", "surrogatepass")
    if isinstance(plain, dict):
        assert len(shown(plain)) == len(plain)


DIGESTS = """import pickle, sys
sys.path.insert(0, sys.argv[1])
from journal import codec
from tests.support.values import build
for recipe in pickle.load(sys.stdin.buffer):
    print(codec.digest(codec.encode(build(recipe))))
"""


def digests(recipes: list[Recipe], seed: str) -> list[str]:
    root = str(Path(codec.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS, root],
        input=pickle.dumps(recipes),
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().split()


@examples(3, cut_down=False, full=FULL // 50)
@given(st.lists(RECIPES, min_size=50, max_size=50))
def test_the_same_value_has_the_same_bytes_in_another_process(recipes: list[Recipe]) -> None:
    recipes = [recipe for recipe in recipes if not hides_a_set(recipe)]
    recipes += [("odd", "nested sets"), ("odd", "group"), ("error", [("set", [("is", letter) for letter in "abcdef"])])]
    here = [codec.digest(codec.encode(build(recipe))) for recipe in recipes]

    for seed in ("1", "2"):
        assert dict(zip(map(str, recipes), digests(recipes, seed), strict=True)) == dict(zip(map(str, recipes), here, strict=True))


def test_fifty_megabytes_of_text_and_of_bytes_come_back() -> None:
    for value in ("é\0" * 25_000_000 + "\ud800", b"\x00\xff" * 25_000_000):
        data = codec.encode({"value": value})

        assert codec.decode(data) == {"value": value}
        assert len(data) < 100_000_000
