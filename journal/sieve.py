"""Which of many needles may stand in a long text, in one pass, however many they are.

The text is read as machine words, eight bytes at a time: of any fifteen bytes in a row one whole word is among
them. Only needles of which a word was seen are looked for. Holds pieces of secrets: it lives and goes with them.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

_WIDTH = 8
_MOST_STEPS = 4


class Needle[T](NamedTuple):
    """What is looked for in a view, and what it is a sign of."""

    text: str
    sign: T


class Sieve[T]:
    def __init__(self, needles: list[Needle[T]]) -> None:
        self.needles = needles
        self._short = [(needle.text, needle) for needle in needles if len(needle.text) < 2 * _WIDTH - 1]
        long = [needle for needle in needles if len(needle.text) >= 2 * _WIDTH - 1]
        self._step = min([_MOST_STEPS, *((len(needle.text) - _WIDTH + 1) // _WIDTH for needle in long)])
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
