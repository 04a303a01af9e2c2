"""The work that every variant does: a turn of two model and two tool calls, with texts that are unique and of real sizes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

STEPS: tuple[str, ...] = ("model", "tool", "model", "tool")
_TEXT = (
    "alpha beta gamma delta policy invoice customer order region total status pending approved the of and to in for with "
    "search result page title summary error retry 2026 value json table row column"
)
WORDS = _TEXT.split()


def text(size: int, chance: random.Random) -> str:
    """About so many bytes of words, as a tool would put out."""
    words, length = [], 0
    while length < size:
        word = chance.choice(WORDS) if chance.random() < 0.8 else f"{chance.getrandbits(32):x}"
        words.append(word)
        length += len(word) + 1
    return " ".join(words)[:size]


class Texts:
    """Unique texts of 1 to 2 KiB, the same in every variant."""

    def __init__(self, big: int = 0) -> None:
        """`big`: so many bytes more in what the first tool of a turn returns."""
        chance = random.Random(7)
        self._pool = [text(chance.randint(1024, 2048), chance) for _ in range(400)]
        self._count = 0
        self._more = " ".join(self._pool * (big // 600_000 + 1))[:big]

    def next(self) -> str:
        self._count += 1
        return f"{self._pool[self._count % len(self._pool)]} #{self._count}"

    def user(self) -> dict[str, Any]:
        return {"role": "user", "content": self.next()[-200:]}

    def answers(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """What the four calls of a turn return, at once: place, kind, message."""
        for place, kind in enumerate(STEPS):
            if kind == "model":
                call = {"id": f"c{place}", "name": "search", "args": {"q": "invoice"}}
                yield place, kind, {"role": "assistant", "content": self.next(), "tool_calls": [call]}
            else:
                more = self._more if place == 1 else ""
                yield place, kind, {"role": "tool", "tool_call_id": f"c{place - 1}", "content": f"{self.next()}{more}"}


def dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
