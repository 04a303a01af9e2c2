"""Any value made plain: None, bool, int, float, str, bytes, list, dict, and `Opaque` for what has no encoding of its own.

Works for objects whose methods raise; nothing is lost, and nothing becomes None. Whoever makes a value plain may change its
parts on the way; this room itself changes none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

MAX_DEPTH = 200
WIDE_INT_BITS = 512
_DEEPEST_WORDS = 50
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Opaque:
    """Stands for a value that has no encoding of its own."""

    type_name: str
    text: str


def opaque(value: Any) -> Opaque:
    """The typed description of a value; works for objects whose repr raises."""
    return Opaque(_name_of(type(value)), _describe(value))


class Change(Protocol):
    """What becomes of the parts of a value while it is made plain. Every part that is no container passes through here."""

    def text(self, text: str) -> str: ...

    def leaf(self, value: Any) -> Any:
        """A number, bytes or an Opaque."""

    def key(self, key: Any, depth: int) -> Any:
        """A key of a dict that stands so deep in the value."""


def plain(value: Any, change: Change | None = None) -> Any:
    """The same value made of None, bool, int, float, str, bytes, list, dict and Opaque only, perhaps changed on the way."""
    return _plain(value, 0, set(), change)


def foreign_part(value: Any, where: str) -> tuple[str, str] | None:
    """The place and type of the first part that would come back as an `Opaque`; None if there is none."""
    return _foreign_part(value, where, 0)


def _foreign_part(value: Any, where: str, depth: int) -> tuple[str, str] | None:
    if isinstance(value, Opaque):
        return None
    if not isinstance(value, list | tuple | dict) or depth >= MAX_DEPTH:
        is_lost = (depth >= MAX_DEPTH and isinstance(value, list | tuple | dict)) or isinstance(plain(value), Opaque)
        return (where, opaque(value).type_name) if is_lost else None
    if isinstance(value, dict):
        parts = [pair for key, item in value.items() for pair in ((key, f"a key of {where}"), (item, f"{where}[{key!r}]"))]
    else:
        parts = [(item, f"{where}[{number}]") for number, item in enumerate(value)]
    return next((found for part, at in parts if (found := _foreign_part(part, at, depth + 1))), None)


def unused_key(key: Any, taken: Mapping[Any, Any]) -> Any:
    """A key that is free in `taken`: two objects that look alike must not swallow each other's values."""
    fresh, number = key, 2
    while fresh in taken:
        fresh = Opaque(key.type_name, f"{key.text} #{number}") if isinstance(key, Opaque) else f"{key} #{number}"
        number += 1
    return fresh


def _plain(value: Any, depth: int, inside: set[int], change: Change | None) -> Any:
    kind = type(value)
    if kind is str:
        return value if change is None else change.text(value)
    if value is None or kind is bool:
        return value
    if kind in (int, float, bytes, Opaque):
        return value if change is None else change.leaf(value)
    try:
        if isinstance(value, list | tuple | dict):
            return _plain_container(value, depth, inside, change)
        bare: Any = _without_subclass(value)
    except Exception as error:
        # A subclass may raise anything from its own methods; its description is what remains of it.
        bare = Opaque(opaque(value).type_name, f"{_describe(value)} ({type(error).__name__} while reading it)")
    return _plain(bare, depth, inside, change)


def _without_subclass(value: Any) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(memoryview(value))
    return opaque(value)


def _plain_container(value: Any, depth: int, inside: set[int], change: Change | None) -> Any:
    if depth >= MAX_DEPTH or id(value) in inside:
        return _plain(opaque(value), depth, inside, change)
    inside.add(id(value))
    try:
        # A copy, made at one blow where no method of a subclass stands in the way: somebody else may change it during the walk.
        if not isinstance(value, dict):
            return [_plain(item, depth + 1, inside, change) for item in (value[:] if type(value) is list else value)]
        result: dict[Any, Any] = {}
        for key, item in list(value.items()):
            word = key if type(key) is str else _as_key(_plain(key, depth + 1, inside, None))
            if change is not None:
                word = change.key(word, depth)
            result[unused_key(word, result) if word in result else word] = _plain(item, depth + 1, inside, change)
        return result
    finally:
        inside.discard(id(value))


def _as_key(key: Any) -> Any:
    """Lists in a key become tuples again; a dict in one, which only a subclass can be, is described."""
    match key:
        case list() | tuple():
            return tuple(_as_key(part) for part in key)
        case dict():
            return opaque(key)
    return key


def _name_of(kind: type) -> str:
    try:
        return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    except Exception as error:
        return f"(a type whose name raised {type(error).__name__})"


def _describe(value: Any) -> str:
    try:
        return _ADDRESS.sub("", _words(value, frozenset()))
    except Exception as error:
        return f"(its description raised {type(error).__name__})"


def _words(value: Any, inside: frozenset[int]) -> str:
    """As repr. But the order of a set differs from process to process, and a wide number has no decimal form."""
    kind: Any = type(value)
    if kind is int and value.bit_length() > WIDE_INT_BITS:
        return hex(value)
    is_error = isinstance(value, BaseException) and kind.__repr__ is BaseException.__repr__
    if not (is_error or kind in (list, tuple, dict) or isinstance(value, set | frozenset)):
        return repr(value)
    if id(value) in inside or len(inside) >= _DEEPEST_WORDS:  # else the stack of the process would decide
        return "[...]" if kind is list else "{...}" if kind is dict else "..."
    inside |= {id(value)}
    if kind is dict:
        return f"{{{', '.join(f'{_words(key, inside)}: {_words(item, inside)}' for key, item in value.items())}}}"
    words = [_words(item, inside) for item in (value.args if is_error else value)]
    if is_error:
        return f"{kind.__name__}({', '.join(words)})"
    if kind is tuple:
        return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"
    return f"[{', '.join(words)}]" if kind is list else f"{{{', '.join(sorted(words))}}}"
