"""Where known secrets stand in a text, in every form: verbatim, escaped, wrapped, hexadecimal, base64, cut off.

Built anew for each list of secrets and dropped with it. Finds places; what is written there instead is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from . import dumps, spellings
from .sieve import Needle, Sieve
from .spellings import DENSE, DIGITS, Base64, Core

SHORTEST = 8
_CHUNK = 128 * 1024  # what fits into a processor's cache is searched several times faster
_PIECE = 12  # so much of a secret is too much, where a text was cut in the middle of it
_ELLIPSIS = "…".encode().decode("latin-1")
_MARK = re.compile(rf"\.\.\.|{_ELLIPSIS}|<<[^<>\n]{{1,80}}>>|[\[<][^\[\]<>\n]{{0,40}}(?:truncated|omitted)[^\[\]<>\n]{{0,40}}[\]>]")
_BARE = " \t\r\n\"'`"


class Hit(NamedTuple):
    """A secret stands here. `whole`: verbatim, from its first to its last character."""

    start: int
    stop: int
    number: int
    whole: bool = False


class _Dense(NamedTuple):
    number: int
    form: Core | Base64


class Finder:
    """Finds the secrets of one list, by their numbers in it."""

    def __init__(self, values: list[str]) -> None:
        self._values = values
        self._data = [value.encode("utf-8", "surrogatepass") for value in values]
        cores = [(number, spellings.core(value)) for number, value in enumerate(values)]
        dense: list[Needle[_Dense]] = [Needle(core.text, _Dense(number, core)) for number, core in cores if core]
        for number, data in enumerate(self._data):
            dense += [Needle(form.text, _Dense(number, form)) for form in spellings.base64_forms(data)]
        self._dense = Sieve(dense)
        self._digits = Sieve([Needle(form, number) for number, value in enumerate(values) for form in spellings.digit_forms(value)])
        self._misread = [sign for _, core in cores if core for sign in spellings.misread(core.text)]
        longest = max([0, *(len(needle.text) for needle in dense), *(len(needle.text) for needle in self._digits.needles)])
        self._overlap = 8 * longest + 1024  # a form in a text may be longer than what is looked for in its view
        self._chunk = max(_CHUNK, 4 * self._overlap)
        self._without_core = [number for number, core in cores if not core]
        self._pieces = _Pieces([(number, data.decode("latin-1")) for number, data in enumerate(self._data)])
        self._dense_pieces = _Pieces([(needle.sign.number, needle.text) for needle in dense if isinstance(needle.sign.form, Base64)])
        self._digit_pieces = _Pieces([(needle.sign, needle.text) for needle in self._digits.needles], 2 * SHORTEST)

    def find(self, data: bytes) -> list[Hit]:
        """Every place at which a secret stands, in no order; places may overlap."""
        size = len(data)
        if size < SHORTEST or not self._values:
            return []
        if size <= self._chunk:
            return self._in_part(data, first=True, last=True)
        hits: list[Hit] = []
        for start in range(0, size - self._overlap, self._chunk - self._overlap):
            part = data[start : start + self._chunk]
            found = self._in_part(part, first=start == 0, last=start + self._chunk >= size)
            hits += [hit._replace(start=hit.start + start, stop=hit.stop + start) for hit in found]
        return hits

    def _in_part(self, data: bytes, *, first: bool, last: bool) -> list[Hit]:
        """`first`, `last`: the text begins and ends here, where something may have been cut off."""
        text = data.decode("latin-1")  # one character for each byte: what is short is found faster in a text
        flat = spellings.unbroken(data, text)
        if flat is data:
            hits = self._condensed(data, data, text, first, last)
        else:
            hits = self._condensed(data, flat, flat.decode("latin-1"), first, last)
            if any(sign in text for sign in self._misread):
                hits += self._condensed(data, data, text, first, last)
        for number in self._without_core:
            if self._data[number][:1] in data or "\\" in text or "%" in text or "&" in text:
                hits += self._from_first_character(data, number)
        if self._pieces.may_end(text.strip(_BARE)):
            hits += self._pieces.at(text, 0 if first else None, len(text) if last else None)
        if "[" in text or "<" in text or "\xe2" in text or "..." in text:
            for mark in _MARK.finditer(text):
                hits += self._pieces.at(text, mark.end(), mark.start())
        return hits

    def _condensed(self, data: bytes, flat: bytes, text: str, first: bool, last: bool) -> list[Hit]:
        """`flat`: the data, or the data with written line breaks blanked; `text`: the same as text."""
        hits: list[Hit] = []
        plain = spellings.plain_signs(flat, text)
        dense = DENSE.of(plain)
        view = dense.decode("latin-1")
        if left := self._dense.left(dense, view):
            hits += self._in_dense(data, plain, view, left)
        if self._dense_pieces.may_end(view):
            hits += self._dense_pieces.at_ends(plain, view, DENSE, first, last)
        flat = spellings.bare_digits(flat, text)
        digits = DIGITS.of(flat)
        if len(digits) < 2 * SHORTEST:
            return hits
        view = digits.decode("latin-1")
        if left_digits := self._digits.left(digits, view):
            hits += _in_digits(flat, view, left_digits)
        if dumps.SIGN in view:
            hits += [Hit(*place) for place in dumps.find(data, [(needle.text.encode(), needle.sign) for needle in self._digits.needles])]
        if self._digit_pieces.may_end(view):
            hits += self._digit_pieces.at_ends(flat, view, DIGITS, first, last)
        return hits

    # -- verbatim, escaped, base64 ------------------------------------------------------------------

    def _in_dense(self, data: bytes, flat: bytes, view: str, left: list[Needle[_Dense]]) -> list[Hit]:
        hits: list[Hit] = []
        signs: list[tuple[int, _Dense]] = []
        for needle in left:
            number, form = needle.sign
            if isinstance(form, Core):
                verbatim = [Hit(at, at + len(self._data[number]), number, True) for at in _every(self._data[number], data)]
                hits += verbatim
                if view.count(needle.text) <= len(verbatim):
                    continue
            signs += [(at, needle.sign) for at in _every(needle.text, view)]
        wanted = [place for at, sign in signs for place in _span(at, sign.form, len(view))]
        places = DENSE.places(flat, wanted)
        for at, sign in signs:
            first, last = (places[index] for index in _span(at, sign.form, len(view)))
            if isinstance(sign.form, Base64):
                hits.append(Hit(first, last + 1, sign.number))
            elif hit := self._around(data, first, sign.number, sign.form):
                hits.append(hit)
        return hits

    def _around(self, data: bytes, at: int, number: int, core: Core) -> Hit | None:
        """The secret whose core begins here, if the rest of it stands around it."""
        value = self._values[number]
        before = value[: core.before]
        exactly = at - len(before.encode("utf-8", "surrogatepass"))
        if exactly >= 0 and data.startswith(self._data[number], exactly):
            return None  # verbatim, and found as such
        stop = spellings.match(data, at, value[core.before :])
        if stop < 0:
            return None
        if before:
            for start in range(exactly, max(-1, at - 16 * core.before - 80), -1):
                stop = spellings.match(data, start, value) if start >= 0 else -1
                if stop > at:
                    return Hit(_with_backslashes(data, start, value), stop, number)
            return None
        return Hit(at, stop, number)

    def _from_first_character(self, data: bytes, number: int) -> Iterator[Hit]:
        value = self._values[number]
        for found in spellings.ways(value[0])[0].finditer(data):
            stop = spellings.match(data, found.start(), value)
            if stop >= 0:
                yield Hit(found.start(), stop, number, data[found.start() : stop] == self._data[number])


class _Pieces:
    """Long pieces of secrets where a text was cut, at its ends or at a mark: their beginnings before it, their ends after it."""

    def __init__(self, needles: list[tuple[int, str]], least: int = SHORTEST) -> None:
        self._needles = needles
        self._least = least
        self._all = frozenset(text[at : at + least] for _, text in needles for at in range(len(text) - least + 1))

    def at_ends(self, flat: bytes, view: str, of: spellings.View, first: bool, last: bool) -> list[Hit]:
        """Pieces at the ends of a view, as places of the text."""
        found = self.at(view, 0 if first else None, len(view) if last else None)
        if not found:
            return found
        places = of.places(flat, [index for hit in found for index in (hit.start, hit.stop - 1)])
        return [Hit(places[hit.start], places[hit.stop - 1] + 1, hit.number) for hit in found]

    def may_end(self, view: str) -> bool:
        """Whether a view begins or ends with something of a secret; a quick look."""
        return view[-self._least :] in self._all or view[: self._least] in self._all

    def at(self, text: str, start: int | None, stop: int | None) -> list[Hit]:
        """Pieces that end before one place and begin at another."""
        hits = [] if stop is None else list(self._before(text, stop))
        return hits if start is None else hits + list(self._after(text, start))

    def _before(self, data: str, stop: int) -> Iterator[Hit]:
        while stop and data[stop - 1] in _BARE:
            stop -= 1
        sign = data[max(0, stop - self._least) : stop]
        if len(sign) < self._least or sign not in self._all:
            return
        for number, text in self._needles:
            for at in _every(sign, text[:-1]):
                size = at + len(sign)
                if size >= self._enough(text) and data.endswith(text[:size], 0, stop):
                    yield Hit(stop - size, stop, number)

    def _after(self, data: str, start: int) -> Iterator[Hit]:
        while start < len(data) and data[start] in _BARE:
            start += 1
        sign = data[start : start + self._least]
        if len(sign) < self._least or sign not in self._all:
            return
        for number, text in self._needles:
            for at in _every(sign, text):
                size = len(text) - at
                if at and size >= self._enough(text) and data.startswith(text[at:], start):
                    yield Hit(start, start + size, number)

    def _enough(self, text: str) -> int:
        return max(self._least, min(_PIECE, len(text) // 2))


def _every[Text: (bytes, str)](needle: Text, data: Text) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1)


def _span(at: int, form: Core | Base64, size: int) -> tuple[int, int]:
    """The first and the last character of a form in a view, with the neighbours that hold a part of the secret."""
    lead, trail = (form.lead, form.trail) if isinstance(form, Base64) else (0, 0)
    return max(0, at - lead), min(size, at + len(form.text) + trail) - 1


def _in_digits(flat: bytes, view: str, left: list[Needle[int]]) -> Iterator[Hit]:
    signs = [(at, at + len(needle.text) - 1, needle.sign) for needle in left for at in _every(needle.text, view)]
    places = DIGITS.places(flat, [index for first, last, _ in signs for index in (first, last)])
    for first, last, number in signs:
        start, stop = places[first], places[last] + 1
        if spellings.is_hex(flat[start:stop]):
            yield Hit(start, stop, number)


def _with_backslashes(data: bytes, start: int, value: str) -> int:
    while not value[0].isalnum() and start and data[start - 1 : start] == b"\\":
        start -= 1
    return start
