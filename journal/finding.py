"""Where known secrets stand in a text, in every form: verbatim, escaped, wrapped, hexadecimal, base64, cut off.

Built anew for each list of secrets and dropped with it. Finds places; what is written there instead is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import dumps, spellings
from .cuts import Pieces, every, marks
from .sieve import Needle, Sieve
from .spellings import DECIMALS, DENSE, DIGITS, RARE, Base64, Core

SHORTEST = 8
_CHUNK = 128 * 1024  # what fits into a processor's cache is searched several times faster


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
        self._dense = Sieve(dense, RARE, 4)
        digits = [Needle(form, number) for number, value in enumerate(values) for form in spellings.digit_forms(value)]
        self._digits = Sieve(digits, DECIMALS, 8)
        self._misread = [sign for _, core in cores if core for sign in spellings.misread(core.text)]
        self._has_lines = any("\n" in value or "\r" in value for value in values)
        longest = max([0, *(len(needle.text) for needle in dense), *(len(needle.text) for needle in digits)])
        self._overlap = 8 * longest + 1024  # a form in a text may be longer than what is looked for in its view
        self._chunk = max(_CHUNK, 4 * self._overlap)
        self._readings: dict[tuple[int, int], tuple[spellings.Reading, ...]] = {}
        self._without_core = [number for number, core in cores if not core]
        self._pieces = Pieces([(number, data.decode("latin-1")) for number, data in enumerate(self._data)], SHORTEST)
        in_base64 = [(needle.sign.number, needle.text) for needle in dense if isinstance(needle.sign.form, Base64)]
        self._dense_pieces = Pieces(in_base64, SHORTEST)
        self._digit_pieces = Pieces([(needle.sign, needle.text) for needle in digits], 2 * SHORTEST)

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
            if any(sign in text for sign in self._misread) or (self._has_lines and spellings.has_percent_break(data, text)):
                hits += self._condensed(data, data, text, first, last)
        for number in self._without_core:
            if self._data[number][:1] in data or "\\" in text or "%" in text or "&" in text:
                hits += self._from_first_character(data, number)
        hits += [Hit(*place) for place in self._pieces.at_ends(text, first, last)]
        for start, stop in marks(text):
            hits += [Hit(*place) for place in (*self._pieces.before(text, start), *self._pieces.after(text, stop))]
        return hits

    def _condensed(self, data: bytes, flat: bytes, text: str, first: bool, last: bool) -> list[Hit]:
        """`flat`: the data, or the data with written line breaks blanked; `text`: the same as text."""
        plain, numbered = spellings.plain_signs(flat, text), spellings.bare_digits(flat, text)
        rare = RARE.of(plain)
        decimals = DECIMALS.of(rare if plain is numbered else numbered)  # of the thin view it is the same, and cheaper
        hits: list[Hit] = []
        if left := self._dense.left(rare):
            view = DENSE.of(plain).decode("latin-1")
            if left := [needle for needle in left if needle.text in view]:
                hits += self._in_dense(data, plain, view, left)
        hits += [Hit(*place) for place in self._dense_pieces.at_ends_of_view(plain, DENSE, first, last)]
        if left_digits := self._digits.left(decimals):
            view = DIGITS.of(numbered).decode("latin-1")
            if left_digits := [needle for needle in left_digits if needle.text in view]:
                hits += _in_digits(numbered, view, left_digits)
        hits += [Hit(*place) for place in self._digit_pieces.at_ends_of_view(numbered, DIGITS, first, last)]
        if decimals and dumps.may_be_in(data):
            hits += [Hit(*place) for place in dumps.find(data, [(needle.text.encode(), needle.sign) for needle in self._digits.needles])]
        return hits

    # -- verbatim, escaped, base64 ------------------------------------------------------------------

    def _in_dense(self, data: bytes, flat: bytes, view: str, left: list[Needle[_Dense]]) -> list[Hit]:
        hits: list[Hit] = []
        signs: list[tuple[int, _Dense]] = []
        for needle in left:
            number, form = needle.sign
            found = list(every(needle.text, view))
            if isinstance(form, Core):
                verbatim = [Hit(at, at + len(self._data[number]), number, True) for at in every(self._data[number], data)]
                hits += verbatim
                if flat is data and len(found) <= len(verbatim):  # else one of these may not be seen in the view
                    continue
            signs += [(at, needle.sign) for at in found]
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
        stop = spellings.match(data, at, self._read(number, core.before))
        if stop < 0:
            return None
        if before:
            whole, least = self._read(number), max(0, at - 16 * core.before - 79)
            starts = [found.start() for found in spellings.beginning(value[0]).finditer(data, least, at)]
            # mostly no shorter than verbatim, so these first; but a wrap may be shorter than what it stands for
            for start in sorted(starts, key=lambda start: (start > exactly, -start)):
                stop = spellings.match(data, start, whole)
                if stop > at:
                    return Hit(_with_backslashes(data, start, value), stop, number)
            return None
        return Hit(at, stop, number)

    def _read(self, number: int, start: int = 0) -> tuple[spellings.Reading, ...]:
        """A secret from one of its characters on, as it is looked for at one place."""
        known = self._readings.get((number, start))
        if known is None:
            known = self._readings[number, start] = spellings.readings(self._values[number][start:])
        return known

    def _from_first_character(self, data: bytes, number: int) -> Iterator[Hit]:
        value = self._values[number]
        for found in spellings.ways(value[0])[0].finditer(data):
            stop = spellings.match(data, found.start(), self._read(number))
            if stop >= 0:
                yield Hit(found.start(), stop, number, data[found.start() : stop] == self._data[number])


def _span(at: int, form: Core | Base64, size: int) -> tuple[int, int]:
    """The first and the last character of a form in a view, with the neighbours that hold a part of the secret."""
    lead, trail = (form.lead, form.trail) if isinstance(form, Base64) else (0, 0)
    return max(0, at - lead), min(size, at + len(form.text) + trail) - 1


def _in_digits(flat: bytes, view: str, left: list[Needle[int]]) -> Iterator[Hit]:
    signs = [(at, at + len(needle.text) - 1, needle.sign) for needle in left for at in every(needle.text, view)]
    places = DIGITS.places(flat, [index for first, last, _ in signs for index in (first, last)])
    for first, last, number in signs:
        start, stop = places[first], places[last] + 1
        if spellings.is_hex(flat[start:stop]):
            yield Hit(start, stop, number)


def _with_backslashes(data: bytes, start: int, value: str) -> int:
    while not value[0].isalnum() and start and data[start - 1 : start] == b"\\":
        start -= 1
    return start
