"""Which of many needles may stand in a long text, in one pass, however many they are.

Only a thin view of the text is read: few of its characters, and of needles the same. What stands in the text stands
thinned in the thin view, so what does not stand there stands nowhere; what does is looked for in full by the caller.
The thin view is read as machine words: of enough bytes in a row one whole word is among them. Needles that are short
when they are thin are looked for one by one. A sieve holds pieces of secrets: it lives and goes with them.
"""

from __future__ import annotations

import sys
from typing import Literal, NamedTuple

from .spellings import View

_FEW = 4  # a needle of which less is left says nothing
_MOST_STEPS = 8
_ONE_PASS = 120  # reading each word of one byte would cost as much as looking for so many needles one by one
_FORMATS: dict[int, Literal["I", "Q"]] = {4: "I", 8: "Q"}


class Needle[T](NamedTuple):
    """What is looked for in a view, and what it is a sign of."""

    text: str
    sign: T


class Sieve[T]:
    """`width`: bytes of a word; wide ones where the thin view knows few characters, or words would be alike by chance."""

    def __init__(self, needles: list[Needle[T]], thin: View, width: int) -> None:
        self.needles = needles
        self._width = width
        thinned = [(thin.of(needle.text.encode("latin-1")).decode("latin-1"), needle) for needle in needles]
        self._vague = [needle for text, needle in thinned if len(text) < _FEW]
        sizes = [len(text) for text, _ in thinned if len(text) >= _FEW]
        self._shortest = min(sizes, default=0)
        costs = {step: sum(size < self._least(step) for size in sizes) + _ONE_PASS / width / step for step in range(1, _MOST_STEPS + 1)}
        self._step = min(costs, key=costs.__getitem__)
        self._short = [(text, needle) for text, needle in thinned if _FEW <= len(text) < self._least(self._step)]
        self._words: dict[int, list[tuple[str, Needle[T]]]] = {}
        for text, needle in thinned:
            if len(text) >= self._least(self._step):
                for word in self._words_of(text.encode("latin-1")):
                    self._words.setdefault(word, []).append((text, needle))
        self._known = frozenset(self._words)

    def left(self, thin: bytes) -> list[Needle[T]]:
        """The needles that may stand in a text, by its thin view."""
        if len(thin) < self._shortest:
            return self._vague
        view = thin.decode("latin-1")  # what is short is found faster in a text
        found = self._vague + [needle for text, needle in self._short if text in view]
        words = memoryview(thin)[: len(thin) // self._width * self._width].cast(_FORMATS[self._width])[:: self._step]
        if not self._known.isdisjoint(words):
            seen = {each for word in self._known.intersection(words) for each in self._words[word]}
            found += [needle for text, needle in seen if text in view]
        return found

    def _words_of(self, text: bytes) -> list[int]:
        """One at each place at which it may be read; from the end, since beginnings are often alike."""
        starts = range(len(text) - self._width, len(text) - self._width - self._step * self._width, -1)
        return [int.from_bytes(text[start : start + self._width], sys.byteorder) for start in starts]

    def _least(self, step: int) -> int:
        """How long a needle must be so that a whole word of it is read when every `step`-th word is."""
        return self._width * (step + 1) - 1
