"""Which of many needles may stand in a long text, in one pass, however many they are.

The text is read as machine words, eight bytes at a time: of any fifteen bytes in a row one whole word is among
them. Only needles of which a word was seen are looked for; short ones are looked for one by one. A sieve holds
pieces of secrets: it lives and goes with them.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

_WIDTH = 8
_MOST_STEPS = 4
_ONE_PASS = 20  # reading every word costs about as much as looking for so many needles one by one


class Needle[T](NamedTuple):
    """What is looked for in a view, and what it is a sign of."""

    text: str
    sign: T


class Sieve[T]:
    def __init__(self, needles: list[Needle[T]]) -> None:
        self.needles = needles
        sizes = [len(needle.text) for needle in needles]
        self._step = min(range(1, _MOST_STEPS + 1), key=lambda step: sum(size < _least(step) for size in sizes) + _ONE_PASS / step)
        least = _least(self._step)
        self._short = [(needle.text, needle) for needle in needles if len(needle.text) < least]
        long = [needle for needle in needles if len(needle.text) >= least]
        self._words: dict[int, list[Needle[T]]] = {}
        for needle in long:
            text = needle.text.encode("latin-1")
            for start in range(len(text) - _WIDTH, len(text) - _WIDTH - self._step * _WIDTH, -1):  # beginnings are often alike
                word = int.from_bytes(text[start : start + _WIDTH], sys.byteorder)
                self._words.setdefault(word, []).append(needle)
        self._known = frozenset(self._words)

    def left(self, data: bytes, view: str) -> list[Needle[T]]:
        """The needles that stand in a view, given as bytes and as text: each is the faster one for something."""
        found = [short[1] for short in self._short if short[0] in view]
        words = memoryview(data)[: len(data) & -_WIDTH].cast("Q")
        if self._step > 1:
            words = words[:: self._step]
        if not self._known.isdisjoint(words):
            seen = {needle for word in self._known.intersection(words) for needle in self._words[word]}
            found += [needle for needle in seen if needle.text in view]
        return found


def _least(step: int) -> int:
    """How long a needle must be so that a whole word of it is read when every `step`-th word is."""
    return _WIDTH * (step + 1) - 1
