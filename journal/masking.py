"""Secrets out, before anything is stored, digested or answered (I8). Nobody else decides what is secret.

A secret of the host, written verbatim, becomes the host's own placeholder, which the host can turn back.
Everything else becomes `[hidden:NAME]` and is *lossy*: the value cannot come back, so a call whose arguments
held it is never dispatched from the record. How a secret may be written stands in `spellings.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import values
from .clean import Clean
from .clock import Clock
from .cuts import every
from .finding import SHORTEST, Finder, Hit
from .telling import tells
from .values import Opaque

_FRESH_SECONDS = 1.0
_MARK = "[hidden:"
_PLAIN_WORD = re.compile(r"[A-Za-z_]+\Z")


class Secret(NamedTuple):
    """`placeholder` is the host's own reference to a secret that the host keeps; None for any other secret."""

    name: str
    value: str
    placeholder: str | None = None


def from_environment() -> list[Secret]:
    """The values of the environment whose names tell of a secret."""
    return [Secret(name, value) for name, value in os.environ.items() if tells(name)]


@dataclass(frozen=True, slots=True)
class Masked:
    value: Any
    lossy: bool


class _Known:
    """The secrets of one moment and what finds them; replaced as a whole when they change."""

    def __init__(self, secrets: tuple[Secret, ...]) -> None:
        self.secrets = secrets
        by_value: dict[str, Secret] = {}
        for secret in secrets:
            known = by_value.get(secret.value)
            if len(secret.value) >= SHORTEST and (known is None or (known.placeholder is None and secret.placeholder)):
                by_value[secret.value] = secret
        self.numbered = list(by_value.values())
        self.finder = Finder(list(by_value))
        self.clean = Clean()
        self.placeholders = [(_to_bytes(each.placeholder), number) for number, each in enumerate(self.numbered) if each.placeholder]

    def has_placeholder(self, text: str) -> bool:
        return any(each.placeholder in text for each in self.numbered if each.placeholder)


class Masker:
    """Asks `source` for the known secrets, again at most once a second and when `refresh` is called."""

    def __init__(self, source: Callable[[], Iterable[Secret]], clock: Clock | None = None) -> None:
        self._source = source
        self._clock = clock or Clock()
        self._asked: float | None = None
        self._known = _Known(())
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why the list of secrets could not be read again, asked now as for a value; empty while it can."""
        if self._asked is not None:
            self._keep_fresh()
        return self._problem

    def refresh(self) -> None:
        """Ask now. An error of the source is the caller's; the secrets known so far stay known."""
        secrets = tuple(self._source())
        if secrets != self._known.secrets:
            self._known = _Known(secrets)
        self._asked = self._clock.monotonic()
        self._problem = ""

    def mask(self, value: Any, *, names: bool = True, ours: Callable[[str], bool] | None = None) -> Masked:
        """Any value, made plain and masked.

        With `names` the keys at the top level are structure, such as a tool's argument names, and stay.
        `ours` tells what we made ourselves of values that are masked already: a name of a node is never searched.
        """
        seen = self._pass(names=names, ours=ours)
        return Masked(values.plain(value, seen), seen.lossy)

    def uniform(self, value: Any) -> Any:
        """As `mask`, with one mark for a secret however it is spelled, for comparing and never for running.

        What a model wrote inside JSON is masked in another spelling than what a tool was given.
        """
        return values.plain(value, self._pass(uniform=True))

    def text(self, text: str) -> str:
        return self._pass().text(text)

    def names_in(self, data: bytes) -> set[str]:
        """The names of the secrets that stand in something as it is stored."""
        seen = self._pass()
        return {seen.known.numbered[hit.number].name for hit in seen.known.finder.find(data)}

    def _pass(self, *, uniform: bool = False, names: bool = False, ours: Callable[[str], bool] | None = None) -> _Pass:
        self._keep_fresh()
        return _Pass(self._known, uniform=uniform, names=names, ours=ours)

    def _keep_fresh(self) -> None:
        if self._asked is None:
            self.refresh()
        elif self._clock.monotonic() - self._asked >= _FRESH_SECONDS:
            try:
                self.refresh()
            except Exception as error:
                # A result must still be written: with the secrets known so far, and the reason kept for the status.
                self._asked = self._clock.monotonic()
                self._problem = f"The list of secrets could not be read again: {type(error).__name__}."


def has_hidden(value: Any) -> bool:
    """Whether a plain value holds the mark of something hidden that cannot come back."""
    match value:
        case str():
            return _MARK in value
        case bytes():
            return _MARK.encode() in value
        case list():
            return any(has_hidden(item) for item in value)
        case dict():
            return any(has_hidden(key) or has_hidden(item) for key, item in value.items())
        case Opaque():
            return _MARK in value.text
    return False


class _Pass:
    """One value being masked: collects whether anything was hidden for good."""

    def __init__(self, known: _Known, *, uniform: bool, names: bool, ours: Callable[[str], bool] | None) -> None:
        self.known = known
        self.lossy = False
        self._uniform = uniform
        self._names = names
        self._ours = ours

    def text(self, text: str) -> str:
        if len(text) < SHORTEST or (text in self.known.clean and not (self._uniform and self.known.has_placeholder(text))):
            return text
        if self._ours is not None and self._ours(text):
            return text
        data = _to_bytes(text)
        masked = self.data(data)
        if masked is not data:
            return masked.decode("utf-8", "surrogatepass")
        self.known.clean.add(text)
        return text

    def leaf(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return self.data(value)
        if isinstance(value, Opaque):
            return Opaque(value.type_name, self.text(value.text))
        if isinstance(value, int) and value.bit_length() > 1024:
            return value
        text = repr(value)
        masked = self.text(text)
        return value if masked == text else masked

    def key(self, key: Any, depth: int) -> Any:
        if self._names and not depth:
            return key
        if isinstance(key, str):
            return key if _PLAIN_WORD.match(key) else self.text(key)
        if isinstance(key, tuple):
            return tuple(self.key(part, depth) for part in key)
        return key if key is None or isinstance(key, bool) else self.leaf(key)

    def data(self, data: bytes) -> bytes:
        hits = self.known.finder.find(data)
        if self._uniform:
            hits += self._placeholders(data)
        if not hits:
            return data
        pieces, end = [], 0
        for start, stop, group in _merged(hits):
            pieces += [data[end:start], self._instead(start, stop, group)]
            end = stop
        return b"".join([*pieces, data[end:]])

    def _placeholders(self, data: bytes) -> Iterator[Hit]:
        for placeholder, number in self.known.placeholders:
            yield from (Hit(at, at + len(placeholder), number) for at in every(placeholder, data))

    def _instead(self, start: int, stop: int, group: list[Hit]) -> bytes:
        over_all = [hit for hit in group if (hit.start, hit.stop) == (start, stop)]
        if not self._uniform:
            for hit in over_all:
                placeholder = self.known.numbered[hit.number].placeholder
                if hit.whole and placeholder is not None:
                    return _to_bytes(placeholder)
        self.lossy = True
        numbers = {over_all[0].number} if over_all else {hit.number for hit in group}
        names = sorted({self.known.numbered[number].name for number in numbers})
        return _to_bytes(f"{_MARK}{'+'.join(names)}]")


def _merged(hits: list[Hit]) -> list[tuple[int, int, list[Hit]]]:
    """Places in order; overlapping ones are one place, so that no tail of a second secret is left over."""
    places: list[tuple[int, int, list[Hit]]] = []
    for hit in sorted(hits, key=lambda each: (each.start, -each.stop, not each.whole, each.number)):
        if places and hit.start < places[-1][1]:
            start, stop, group = places[-1]
            group.append(hit)
            places[-1] = (start, max(stop, hit.stop), group)
        else:
            places.append((hit.start, hit.stop, [hit]))
    return places


def _to_bytes(text: str) -> bytes:
    """Texts are searched as their UTF-8 bytes, so that texts and bytes share one search and one kind of place."""
    return text.encode("utf-8", "surrogatepass")
