"""What a cut left of a secret: long pieces of it at the ends of a text, or beside the mark of something left out.

A short beginning of a secret may stand anywhere; at a cut it is what remains of the whole, and is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spellings import View

BARE = " \t\r\n\"'`"  # between a piece and a cut
_PIECE = 12  # so much of a secret is too much, where a text was cut in the middle of it
_NEAR = 96  # the end of a view is looked for in so much of a text first
_ELLIPSIS = "…".encode().decode("latin-1")
_ANGLES = re.compile(r"<<[^<>\n]{1,80}>>")
_WORDS = ("truncated", "omitted")
_BRACKETS = re.compile(rf"[\[<][^\[\]<>\n]{{0,40}}(?:{'|'.join(_WORDS)})[^\[\]<>\n]{{0,40}}[\]>]")


type Span = tuple[int, int, int]
"""Where a piece begins and ends, and the number of its needle."""


def marks(text: str) -> list[tuple[int, int]]:
    """Where something was left out of a text, which is given as one character for each byte.

    What every mark must hold is looked for first: that costs a tenth of the patterns, which read all of a text.
    """
    found = [(at, at + len(sign)) for sign in ("...", _ELLIPSIS) if sign[0] in text for at in _apart(sign, text)]
    if "<" in text:
        found += [mark.span() for mark in _ANGLES.finditer(text)]
    if ("[" in text or "<" in text) and any(word in text for word in _WORDS):
        found += [mark.span() for mark in _BRACKETS.finditer(text)]
    return found


class Pieces:
    """The pieces of some needles, of at least so many characters: their beginnings before a cut, their ends after it."""

    def __init__(self, needles: list[tuple[int, str]], least: int) -> None:
        self._needles = needles
        self._least = least
        self._all = frozenset(text[at : at + least] for _, text in needles for at in range(len(text) - least + 1))

    def at_ends(self, text: str, first: bool, last: bool) -> list[Span]:
        """The pieces at the ends of a text, where it begins, or ends, with a cut."""
        found: list[Span] = []
        bare = text.strip(BARE)
        if first and bare[: self._least] in self._all:
            found += self.after(text, 0)
        if last and bare[-self._least :] in self._all:
            found += self.before(text, len(text))
        return found

    def at_ends_of_view(self, flat: bytes, view: View, first: bool, last: bool) -> list[Span]:
        """The same in a view of a text, as places of the text; the whole view is made only where there are some."""
        if len(flat) < self._least or not self._may_end(flat, view, first, last):
            return []
        found = self.at_ends(view.of(flat).decode("latin-1"), first, last)
        places = view.places(flat, [index for start, stop, _ in found for index in (start, stop - 1)])
        return [(places[start], places[stop - 1] + 1, number) for start, stop, number in found]

    def _may_end(self, flat: bytes, view: View, first: bool, last: bool) -> bool:
        """Whether a view begins, or ends, with something of a needle; mostly without all of the view."""
        head = view.of(flat[:_NEAR]).decode("latin-1")
        tail = head if len(flat) <= _NEAR else view.of(flat[-_NEAR:]).decode("latin-1")
        if len(flat) > _NEAR and min(len(head), len(tail)) < self._least:
            head = tail = view.of(flat).decode("latin-1")
        return (first and head[: self._least] in self._all) or (last and tail[-self._least :] in self._all)

    def before(self, text: str, stop: int) -> Iterator[Span]:
        """Pieces that end before a place."""
        while stop and text[stop - 1] in BARE:
            stop -= 1
        sign = text[max(0, stop - self._least) : stop]
        if sign not in self._all:
            return
        for number, needle in self._needles:
            for at in every(sign, needle[:-1]):
                size = at + len(sign)
                if size >= self._enough(needle) and text.endswith(needle[:size], 0, stop):
                    yield stop - size, stop, number

    def after(self, text: str, start: int) -> Iterator[Span]:
        """Pieces that begin at a place."""
        while start < len(text) and text[start] in BARE:
            start += 1
        sign = text[start : start + self._least]
        if sign not in self._all:
            return
        for number, needle in self._needles:
            for at in every(sign, needle):
                size = len(needle) - at
                if at and size >= self._enough(needle) and text.startswith(needle[at:], start):
                    yield start, start + size, number

    def _enough(self, needle: str) -> int:
        return max(self._least, min(_PIECE, len(needle) // 2))


def every[Text: (bytes, str)](needle: Text, data: Text) -> Iterator[int]:
    """All places of a needle; they may overlap."""
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1)


def _apart(sign: str, text: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))
