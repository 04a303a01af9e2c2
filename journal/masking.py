"""Secrets out, before anything is stored, digested or answered (I8). Nobody else decides what is secret.

A secret of the host, written verbatim, becomes the host's own placeholder, which the host can turn back.
Everything else becomes `[hidden:NAME]` and is *lossy*: the value cannot come back, so a call whose arguments
held it is never dispatched from the record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

from . import codec
from .clock import Clock
from .codec import Opaque

SHORTEST = 8
_FRESH_SECONDS = 1.0
_MARK = "[hidden:"
_PLAIN_WORD = re.compile(r"[A-Za-z_]+\Z")
_HEX = re.compile(r"%[0-9A-F]{2}")


class Secret(NamedTuple):
    """`placeholder` is the host's own reference to a secret that the host keeps; None for any other secret."""

    name: str
    value: str
    placeholder: str | None = None


@dataclass(frozen=True, slots=True)
class Masked:
    value: Any
    lossy: bool


class _Form(NamedTuple):
    """One way a secret may be spelled, and what is written in its place."""

    spelling: str
    name: str
    instead: str | None


class Masker:
    """Asks `source` for the known secrets, again at most once a second and when `refresh` is called."""

    def __init__(self, source: Callable[[], Iterable[Secret]], clock: Clock | None = None) -> None:
        self._source = source
        self._clock = clock or Clock()
        self._asked: float | None = None
        self._texts: tuple[_Form, ...] = ()
        self._bytes: tuple[_Form, ...] = ()
        self._marks: tuple[tuple[_Form, ...], tuple[_Form, ...]] = ((), ())
        self.problem = ""

    def refresh(self) -> None:
        """Ask now. An error of the source is the caller's; the secrets known so far stay known."""
        known = list(self._source())
        texts, marks = _forms(known), _forms(known, uniform=True)
        self._bytes, self._marks, self._texts = _in_bytes(texts), (marks, _in_bytes(marks)), texts
        self._asked = self._clock.monotonic()
        self.problem = ""

    def mask(self, value: Any, *, names: bool = True) -> Masked:
        """Any value, made plain and masked.

        With `names` the keys at the top level are structure, such as a tool's argument names, and stay.
        """
        self._keep_fresh()
        seen = _Seen(self._texts, self._bytes)
        tree = codec.plain(value)
        if names and isinstance(tree, dict):
            return Masked({key: self._value(item, seen) for key, item in tree.items()}, seen.lossy)
        masked = self._value(tree, seen)
        return Masked(masked, seen.lossy)

    def uniform(self, value: Any) -> Any:
        """As `mask`, with one mark for a secret however it is spelled, for comparing and never for running.

        What a model wrote inside JSON is masked in another spelling than what a tool was given.
        """
        self._keep_fresh()
        return self._value(codec.plain(value), _Seen(*self._marks))

    def text(self, text: str) -> str:
        self._keep_fresh()
        return _replace(text, self._texts, _Seen(self._texts, self._bytes))

    def _keep_fresh(self) -> None:
        if self._asked is None:
            self.refresh()
        elif self._clock.monotonic() - self._asked >= _FRESH_SECONDS:
            try:
                self.refresh()
            except Exception as error:
                # A result must still be written: with the secrets known so far, and the reason kept for the status.
                self._asked = self._clock.monotonic()
                self.problem = f"The list of secrets could not be read again: {type(error).__name__}."

    def _value(self, value: Any, seen: _Seen) -> Any:
        match value:
            case str():
                return _replace(value, seen.texts, seen)
            case bytes():
                return _replace(value.decode("latin-1"), seen.bytes, seen, _as_bytes).encode("latin-1")
            case list():
                return [self._value(item, seen) for item in value]
            case dict():
                return self._deep_dict(value, seen)
            case Opaque():
                return Opaque(value.type_name, _replace(value.text, seen.texts, seen))
            case bool() | None:
                return value
            case int() | float():
                return self._number(value, seen)
        return value

    def _deep_dict(self, value: dict[Any, Any], seen: _Seen) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, item in value.items():
            masked = self._key(key, seen)
            result[key if masked == key else codec.unused_key(masked, result)] = self._value(item, seen)
        return result

    def _key(self, key: Any, seen: _Seen) -> Any:
        if isinstance(key, str) and _PLAIN_WORD.match(key):
            return key
        if isinstance(key, tuple):
            return tuple(self._key(part, seen) for part in key)
        return self._value(key, seen)

    def _number(self, value: int | float, seen: _Seen) -> Any:
        if isinstance(value, int) and value.bit_length() > 1024:
            return value
        text = repr(value)
        masked = _replace(text, seen.texts, seen)
        return value if masked == text else masked


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


class _Seen:
    """The tables for one value; collects whether anything was hidden for good."""

    def __init__(self, texts: tuple[_Form, ...], in_bytes: tuple[_Form, ...]) -> None:
        self.texts, self.bytes = texts, in_bytes
        self.lossy = False


def _in_bytes(texts: tuple[_Form, ...]) -> tuple[_Form, ...]:
    return tuple(_Form(_as_bytes(form.spelling), form.name, form.instead) for form in texts)


def _forms(known: list[Secret], *, uniform: bool = False) -> tuple[_Form, ...]:
    forms: dict[str, _Form] = {}
    for secret in known:
        if len(secret.value) < SHORTEST:
            continue
        if uniform and secret.placeholder:
            forms[secret.placeholder] = _Form(secret.placeholder, secret.name, None)
        for spelling in _spellings(secret.value):
            verbatim = spelling == secret.value and not uniform
            known_form = forms.get(spelling)
            if known_form is None or (verbatim and known_form.instead is None):
                forms[spelling] = _Form(spelling, secret.name, secret.placeholder if verbatim else None)
    return tuple(sorted(forms.values(), key=lambda form: (-len(form.spelling), form.spelling)))


def _spellings(value: str) -> set[str]:
    urls = {quote(value, safe=safe, errors="surrogatepass") for safe in ("/", "", "!'()*")}
    urls.add(quote_plus(value, errors="surrogatepass"))
    lower = {_HEX.sub(lambda found: found[0].lower(), url) for url in urls}
    escaped = _as_json({value})
    escaped |= _as_json(escaped)  # a model writes tool arguments as JSON, and they may be JSON themselves
    return {value} | escaped | urls | lower | _descriptions(value)


def _as_json(texts: set[str]) -> set[str]:
    return {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for text in texts for ascii_only in (True, False)}


def _descriptions(value: str) -> set[str]:
    """As Python describes a text or its bytes; which quotation mark is escaped depends on what stands around it."""
    plain = {repr(value)[1:-1], repr(value.encode("utf-8", "surrogatepass"))[2:-1]}
    plain = {text.replace("\\'", "'") for text in plain}
    return plain | {text.replace("'", "\\'") for text in plain}


def _as_bytes(text: str) -> str:
    """A text as its UTF-8 bytes, one character per byte: so bytes and texts share one search."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _replace(text: str, forms: tuple[_Form, ...], seen: _Seen, spell: Callable[[str], str] = str) -> str:
    found = [form for form in forms if form.spelling in text]
    if not found:
        return text
    pieces, end = [], 0
    for start, stop, group in _places(text, found):
        pieces.append(text[end:start])
        whole = next((form for at, form in group if at == start and at + len(form.spelling) == stop), None)
        if whole is not None and whole.instead is not None:
            pieces.append(spell(whole.instead))
        else:
            names = [whole.name] if whole else sorted({form.name for _, form in group})
            pieces.append(spell(f"{_MARK}{'+'.join(names)}]"))
            seen.lossy = True
        end = stop
    return "".join([*pieces, text[end:]])


def _places(text: str, found: list[_Form]) -> list[tuple[int, int, list[tuple[int, _Form]]]]:
    """Where secrets stand; overlapping ones are one place, so that no tail of a second one is left over."""
    hits: list[tuple[int, int, _Form]] = []
    for form in found:
        at = text.find(form.spelling)
        while at >= 0:
            hits.append((at, at + len(form.spelling), form))
            at = text.find(form.spelling, at + 1)
    places: list[tuple[int, int, list[tuple[int, _Form]]]] = []
    for start, stop, form in sorted(hits, key=lambda hit: (hit[0], -hit[1])):
        if places and start < places[-1][1]:
            first, last, group = places[-1]
            places[-1] = (first, max(last, stop), [*group, (start, form)])
        else:
            places.append((start, stop, [(start, form)]))
    return places
