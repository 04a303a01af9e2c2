"""No known secret passes, in any form that is due; what the host can put back is put back, the rest is marked."""

from __future__ import annotations

import collections
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from journal.masking import Masker, Secret, has_hidden
from journal.values import Opaque
from tests.store.worlds import TestClock

PLACEHOLDER = "§§secret(API)"
TRICKY = 'k"e\\y/ü=1&\n2 %'


def masker(*secrets: Secret) -> Masker:
    return Masker(lambda: secrets)


HOSTS = masker(Secret("API", TRICKY, PLACEHOLDER))
FOREIGN = masker(Secret("TOKEN", TRICKY))


FORMS = {
    "JSON": json.dumps(TRICKY)[1:-1],
    "JSON, not ASCII": json.dumps(TRICKY, ensure_ascii=False)[1:-1],
    "URL": quote(TRICKY),
    "URL, no safe characters": quote(TRICKY, safe=""),
    "form": quote_plus(TRICKY),
}


def test_a_secret_of_the_host_becomes_its_placeholder_and_nothing_is_lost() -> None:
    masked = HOSTS.mask({"url": f"a {TRICKY} b"})

    assert masked.value == {"url": f"a {PLACEHOLDER} b"}
    assert not masked.lossy


def test_any_other_secret_is_hidden_for_good() -> None:
    masked = FOREIGN.mask({"url": f"a {TRICKY} b"})

    assert masked.value == {"url": "a [hidden:TOKEN] b"}
    assert masked.lossy


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("which", [HOSTS, FOREIGN], ids=["host", "foreign"])
def test_every_escaped_form_is_hidden_for_good(which: Masker, form: str) -> None:
    masked = which.mask([f"<{form}>", form.encode()])

    assert masked.lossy
    assert form not in masked.value[0]
    assert form.encode() not in masked.value[1]


def test_percent_forms_are_found_in_lower_case_hex() -> None:
    form = quote(TRICKY, safe="")
    lower = "".join(c.lower() if i > 0 and ("%" in form[max(0, i - 2) : i]) else c for i, c in enumerate(form))

    assert lower != form
    assert FOREIGN.text(lower) == "[hidden:TOKEN]"


@pytest.mark.parametrize(
    "place",
    [
        TRICKY,
        TRICKY.encode(),
        [TRICKY],
        (TRICKY,),
        {"a": {"b": [TRICKY]}},
        {"deep": {f"key {TRICKY}": 1}},
        {"deep": {(TRICKY, 1): 1}},
        {TRICKY},
        Opaque("T", TRICKY),
        ValueError(TRICKY),
        {"deep": [{"x": bytearray(TRICKY.encode())}]},
    ],
    ids=lambda place: type(place).__name__,
)
def test_a_secret_is_found_wherever_it_stands(place: Any) -> None:
    text = repr(FOREIGN.mask(place).value)

    assert "[hidden:TOKEN]" in text
    assert "&" not in text


def test_names_at_the_top_are_structure_unless_the_caller_says_otherwise() -> None:
    hide = masker(Secret("TOKEN", "argument-name"))

    assert hide.mask({"argument-name": 1}).value == {"argument-name": 1}
    assert hide.mask({"argument-name": 1}, names=False).value == {"[hidden:TOKEN]": 1}


def test_a_plain_word_is_never_masked_as_a_key() -> None:
    hide = masker(Secret("WORD", "password"))

    assert hide.mask({"form": {"password": "password"}}).value == {"form": {"password": "[hidden:WORD]"}}


def test_two_keys_that_are_hidden_alike_keep_both_values() -> None:
    hide = masker(Secret("ONE", "secret-one"), Secret("ONE", "secret-two"))

    assert sorted(hide.mask({"m": {"secret-one": 1, "secret-two": 2}}).value["m"].values()) == [1, 2]


def test_a_key_that_looks_like_a_hidden_one_keeps_its_value_beside_it() -> None:
    hide = masker(Secret("ONE", "secret-one"))

    assert sorted(hide.mask({"m": {"secret-one": 1, "[hidden:ONE]": 2}}).value["m"].values()) == [1, 2]


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_a_dict_that_changes_while_it_is_read_keeps_its_values(kind: type[dict[str, Any]]) -> None:
    """As when another thread writes to the data of a chat: a description in its place would be lost on the way back."""

    class Writes:
        def __repr__(self) -> str:
            data[f"new {len(data)}"] = 1
            return "written"

    data = kind([("first", "a"), ("writes", Writes()), ("last", "b")])

    found = HOSTS.mask({"data": data}).value["data"]

    assert isinstance(found, dict)
    assert (found["first"], found["writes"].text, found["last"]) == ("a", "written", "b")


def test_a_list_that_grows_while_it_is_read_comes_to_an_end() -> None:
    class Writes:
        def __repr__(self) -> str:
            items.append(Writes())
            return "written"

    items: list[Any] = [Writes(), "last"]

    assert [getattr(item, "text", item) for item in HOSTS.mask(items).value] == ["written", "last"]


def test_numbers_that_are_secrets_are_hidden() -> None:
    hide = masker(Secret("PIN", "1234567890"))

    assert hide.mask({"pin": 1234567890, "other": 99, "huge": 10**5000}).value == {"pin": "[hidden:PIN]", "other": 99, "huge": 10**5000}


def test_short_values_are_no_secrets() -> None:
    assert masker(Secret("SHORT", "1234567")).mask("1234567").value == "1234567"


def test_the_longest_secret_wins() -> None:
    hide = masker(Secret("SHORT", "abcdefgh"), Secret("LONG", "abcdefgh-and-more"))

    assert hide.text("abcdefgh-and-more abcdefgh") == "[hidden:LONG] [hidden:SHORT]"


def test_no_tail_of_an_overlapping_secret_is_left() -> None:
    hide = masker(Secret("A", "abcdefgh1", "§§secret(A)"), Secret("B", "h1ijklmnop"))

    masked = hide.mask("xabcdefgh1ijklmnopx")

    assert masked.value == "x[hidden:A+B]x"
    assert masked.lossy


def test_text_that_needs_no_mask_is_the_same_object() -> None:
    text = "nothing to hide " * 1000

    assert FOREIGN.text(text) is text


def test_a_placeholder_is_not_masked_again() -> None:
    hide = masker(Secret("A", "value-one", "§§secret(value-two)"), Secret("B", "value-two"))

    assert hide.text("value-one value-two") == "§§secret(value-two) [hidden:B]"


def test_new_secrets_are_known_within_a_second_or_at_once_when_asked() -> None:
    clock, secrets, asked = TestClock(), [], []
    hide = Masker(lambda: asked.append(1) or secrets, clock)
    hide.text("warm")

    secrets.append(Secret("NEW", "brand-new-secret"))
    for _ in range(100):
        hide.text("x")
    assert (hide.text("brand-new-secret"), len(asked)) == ("brand-new-secret", 1)

    clock.turn(1)
    assert hide.text("brand-new-secret") == "[hidden:NEW]"

    secrets.append(Secret("NEWER", "even-newer-secret"))
    hide.refresh()
    assert hide.text("even-newer-secret") == "[hidden:NEWER]"


def test_a_source_that_fails_later_leaves_the_known_secrets_known_and_says_so() -> None:
    clock, failing = TestClock(), []

    def source() -> list[Secret]:
        if failing:
            raise OSError("gone")
        return [Secret("TOKEN", "a-long-token")]

    hide = Masker(source, clock)
    assert hide.text("a-long-token") == "[hidden:TOKEN]"

    failing.append(1)
    clock.turn(5)

    assert hide.text("a-long-token") == "[hidden:TOKEN]"
    assert "OSError" in hide.problem

    failing.clear()
    clock.turn(5)

    assert hide.problem == ""


def test_a_source_that_never_answered_is_an_error_before_anything_is_written() -> None:
    def source() -> list[Secret]:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        Masker(source).text("anything")


def test_the_mark_of_something_hidden_is_found_at_any_depth() -> None:
    hidden = FOREIGN.mask({"a": [{"b": TRICKY.encode()}]}).value

    assert has_hidden(hidden)
    assert not has_hidden(HOSTS.mask({"a": [{"b": TRICKY}]}).value)
