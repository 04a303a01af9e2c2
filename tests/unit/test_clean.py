"""What was searched and found clean is not searched again, by the same list of secrets and within bounds."""

from __future__ import annotations

import random

import pytest

from journal import clean
from journal.clean import Clean
from journal.finding import Finder, Hit
from journal.masking import Masker, Secret
from tests.store.worlds import TestClock

TEXT = "a text that holds brand-new-secret, which nobody knows yet"


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    texts: list[bytes] = []
    find = Finder.find

    def counted(self: Finder, data: bytes) -> list[Hit]:
        texts.append(data)
        return find(self, data)

    monkeypatch.setattr(Finder, "find", counted)
    return texts


def test_the_same_text_is_searched_once_however_it_comes(searched: list[bytes]) -> None:
    masker, large = Masker(lambda: [Secret("A", "one-secret")]), "a long output " * 400_000

    for value in ({"result": large}, [{"role": "tool", "content": "".join([large, ""])}], large):
        masker.mask(value)

    assert [data for data in searched if len(data) > 1000] == [large.encode()]


def test_a_text_that_was_clean_is_masked_as_soon_as_a_secret_in_it_is_known() -> None:
    secrets, clock = [Secret("OLD", "an-older-secret")], TestClock()
    masker = Masker(lambda: list(secrets), clock)
    assert masker.mask([TEXT]).value == [TEXT]
    assert masker.text(TEXT) is TEXT

    secrets.append(Secret("NEW", "brand-new-secret"))
    masker.refresh()

    assert masker.mask({TEXT: [TEXT]}, names=False).value == {hidden(TEXT): [hidden(TEXT)]}
    assert masker.text(TEXT) == masker.uniform(TEXT) == hidden(TEXT)


def test_what_becomes_known_with_time_is_masked_too() -> None:
    secrets, clock = [Secret("OLD", "an-older-secret")], TestClock()
    masker = Masker(lambda: list(secrets), clock)
    assert masker.text(TEXT) is TEXT

    secrets.append(Secret("NEW", "brand-new-secret"))
    clock.turn(2)

    assert masker.text(TEXT) == hidden(TEXT)


def test_a_clean_text_is_still_compared_by_what_its_placeholders_stand_for() -> None:
    masker, text = Masker(lambda: [Secret("KEY", "one-secret", "§§secret(KEY)")]), "use §§secret(KEY) here"
    assert masker.text(text) is text

    assert masker.uniform([text]) == ["use [hidden:KEY] here"] == masker.uniform(["use one-secret here"])


def test_a_text_that_held_a_secret_is_not_remembered(searched: list[bytes]) -> None:
    masker = Masker(lambda: [Secret("A", "one-secret")])

    assert [masker.text("with one-secret in it") for _ in range(3)] == ["with [hidden:A] in it"] * 3
    assert len(searched) == 3


def test_it_is_bounded_by_texts_and_by_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean, "MOST_TEXTS", 50)
    monkeypatch.setattr(clean, "MOST_CHARACTERS", 1000)
    chance, known, added = random.Random(1), Clean(), []

    for number in range(500):
        added.append(f"{number}" + "x" * chance.choice([1, 5, 100, 300]))
        known.add(added[-1])
        held = [text for text in added if text in known]

        assert held[-1] == added[-1]
        assert len(held) <= 50
        assert sum(map(len, held)) <= 1000

    known.add("y" * 1001)
    assert "y" * 1001 not in known
    assert added[-1] in known, "what can never fit drives nothing out"


def hidden(text: str) -> str:
    return text.replace("brand-new-secret", "[hidden:NEW]")
