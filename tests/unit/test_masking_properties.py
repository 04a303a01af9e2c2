"""Whatever a value is: no known secret stays in it, a second mask changes nothing, and what holds none stays as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal import codec, values
from journal.masking import Masker, Secret
from tests.support.examples import examples
from tests.support.values import ANY_TEXT, RECIPES, Recipe, build, is_same

pytestmark = pytest.mark.properties

VALUES = ("hunter2-hunter2", "ключ-от-дверей", 'quo"ted\\secret', "sp ace&amp=1", "\ud800lone-half")
SECRETS = [Secret(f"S{number}", value, f"§§secret(S{number})" if number % 2 else None) for number, value in enumerate(VALUES)]
LONGEST_MARK = max(len(f"[hidden:{secret.name}]") for secret in SECRETS) + len("§§secret()")


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker(lambda: SECRETS)


HIDING = st.lists(ANY_TEXT | st.sampled_from(VALUES), max_size=6).map("".join)
HOLDERS = st.recursive(
    st.tuples(st.just("is"), HIDING | HIDING.map(lambda text: text.encode("utf-8", "surrogatepass"))) | RECIPES,
    lambda inner: (
        st.tuples(st.sampled_from(["list", "set", "error", "model"]), st.lists(inner, max_size=3))
        | st.tuples(st.just("dict"), st.lists(st.tuples(inner, inner), max_size=3))
    ),
    max_leaves=6,
)


@examples(12, cut_down=False)
@given(HOLDERS)
def test_no_secret_stays_and_a_second_mask_changes_nothing(masker: Masker, recipe: Recipe) -> None:
    masked = masker.mask(build(recipe), names=False)
    data = codec.encode(masked.value)

    assert not any(value.encode("utf-8", "surrogatepass") in data for value in VALUES)
    assert is_same(masker.mask(masked.value, names=False).value, masked.value)
    assert not masker.mask(masked.value, names=False).lossy


@examples(12, cut_down=False)
@given(RECIPES)
def test_what_holds_no_secret_stays_as_it_was(masker: Masker, recipe: Recipe) -> None:
    value = build(recipe)
    masked = masker.mask(value, names=False)

    assert is_same(masked.value, values.plain(value))
    assert not masked.lossy


@examples(12, cut_down=False)
@given(HIDING)
def test_a_text_grows_by_its_marks_alone(masker: Masker, text: str) -> None:
    masked = masker.text(text)

    hits = sum(text.count(value) for value in VALUES)
    assert len(masked) <= len(text) + hits * LONGEST_MARK
    assert (masked == text) is (hits == 0)


@examples(12, cut_down=False)
@given(HIDING, HIDING)
def test_a_mask_of_parts_hides_what_a_mask_of_the_whole_hides(masker: Masker, left: str, right: str) -> None:
    found: Any = masker.mask({"left": left, "right": [right]}).value

    assert found == {"left": masker.text(left), "right": [masker.text(right)]}
