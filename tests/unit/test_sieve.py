"""What is passed over at a quick look is not there: thin views, words and marks leave nothing out."""

from __future__ import annotations

import random
import re
import string

import pytest

from journal.cuts import marks
from journal.sieve import Needle, Sieve
from journal.spellings import DECIMALS, DENSE, DIGITS, RARE, View

ALPHABETS = {
    "letters and digits": string.ascii_letters + string.digits,
    "base64 of both kinds": string.ascii_letters + string.digits + "+/-_",
    "rare in texts": string.ascii_uppercase + string.digits + "-_",
    "lower case": string.ascii_lowercase,
    "hexadecimal": "0123456789abcdef",
    "decimal": "0123456789",
}
BETWEEN = ("", "", "", " ", "\n", ":", ", ")


def text_of(chance: random.Random, alphabet: str, size: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(size))


@pytest.mark.parametrize("name", ALPHABETS)
@pytest.mark.parametrize(("full", "thin", "width"), [(DENSE, RARE, 4), (DIGITS, DECIMALS, 8)], ids=["dense", "digits"])
def test_every_needle_that_stands_in_a_view_is_left(full: View, thin: View, width: int, name: str) -> None:
    chance, alphabet = random.Random(name), ALPHABETS[name]
    for _ in range(60):
        forms = [full.of(text_of(chance, alphabet, chance.choice([8, 11, 16, 22, 30, 64])).encode()).decode() for _ in range(12)]
        needles = [Needle(form, number) for number, form in enumerate(forms) if form]
        sieve = Sieve(needles, thin, width)
        for _ in range(6):
            written = "".join(character + chance.choice(BETWEEN) for character in chance.choice(forms))
            before, after = (text_of(chance, alphabet, chance.randrange(200)) for _ in range(2))
            data = (before + written + after).encode()
            view = full.of(data).decode()

            left = sieve.left(thin.of(data))

            assert {needle for needle in needles if needle.text in view} <= set(left)
            assert thin.of(full.of(data)) == thin.of(data), "a view of the view is a view of the text"


def test_most_needles_are_left_out_of_a_common_text() -> None:
    chance = random.Random(1)
    needles = [Needle(text_of(chance, string.ascii_letters + string.digits, 24), number) for number in range(200)]
    text = " ".join(text_of(chance, string.ascii_lowercase, 7) for _ in range(20_000))

    assert Sieve(needles, RARE, 4).left(RARE.of(text.encode())) == []


ONE_PATTERN = re.compile(
    r"\.\.\.|\xe2\x80\xa6|<<[^<>\n]{1,80}>>|[\[<][^\[\]<>\n]{0,40}(?:truncated|omitted)[^\[\]<>\n]{0,40}[\]>]",
)


def test_marks_that_are_looked_for_one_kind_after_another_are_those_of_one_pattern() -> None:
    chance = random.Random("marks")
    parts = [
        "...",
        ".",
        "\xe2\x80\xa6",
        "<<",
        ">>",
        "<",
        ">",
        "[",
        "]",
        "truncated",
        "omitted",
        "x",
        " 12 characters ",
        "\n",
        "." * 5,
        "y" * 39,
    ]
    for _ in range(20_000):
        text = "".join(chance.choice(parts) for _ in range(chance.randrange(14)))

        assert {found.span() for found in ONE_PATTERN.finditer(text)} <= set(marks(text)), text
