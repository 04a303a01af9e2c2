"""Values as canonical bytes, and back. JSON with tags; what JSON has no word for keeps its type.

The same value gives the same bytes in every process; only inside an object whose class writes its own repr the
order of a set is that class's affair. Nothing is lost: what cannot be encoded becomes an
`Opaque` that names its type and says what it looked like. Long texts and bytes follow the JSON line raw,
so that they are neither escaped nor base64-coded. Bytes must come from masked values; this room masks nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .errors import RecordCorrupt
from .ids import Digest

MAX_DEPTH = 200
_LONG = 64 * 1024
_DEEPEST_WORDS = 50
_WIDE_INT_BITS = 512
_TAG = "$"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Opaque:
    """Stands for a value that has no encoding of its own."""

    type_name: str
    text: str


def digest(data: bytes) -> Digest:
    return Digest(hashlib.sha256(data).hexdigest())


def encode(value: Any) -> bytes:
    if _is_simple(value, 0):
        try:
            return _dump(value).encode()
        except UnicodeEncodeError:
            pass  # a lone surrogate: it is tagged below
    tree = plain(value)
    try:
        return _Encoder(careful=False).bytes_of(tree)
    except UnicodeEncodeError:
        return _Encoder(careful=True).bytes_of(tree)


def decode(data: bytes) -> Any:
    """Raises RecordCorrupt for anything that `encode` cannot have written."""
    if _TAG_WRITTEN not in data:
        try:
            text = data.decode()
            value, end = _scan(text, 0)
        except (ValueError, RecursionError, StopIteration) as error:
            raise RecordCorrupt("A stored value cannot be decoded.") from error
        if end != len(text):
            raise RecordCorrupt("A stored value cannot be decoded.")
        return value

    line, _, raw = data.partition(b"\n")

    def untag(pairs: dict[str, Any]) -> Any:
        return _UNTAG[pairs[_TAG]](pairs, raw) if _TAG in pairs else pairs

    try:
        return json.loads(line, object_hook=untag, parse_constant=_no_constant)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordCorrupt("A stored value cannot be decoded.") from error


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


# -- to plain values ----------------------------------------------------------------------------


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
        if not isinstance(value, dict):
            return [_plain(item, depth + 1, inside, change) for item in value]
        result: dict[Any, Any] = {}
        for key, item in value.items():
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


def _hashable(key: Any) -> Any:
    return tuple(_hashable(part) for part in key) if isinstance(key, list | tuple) else key


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
    if kind is int and value.bit_length() > _WIDE_INT_BITS:
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


def _is_simple(value: Any, depth: int) -> bool:
    """Whether `_dump` writes all of it as it is: nothing to set aside, nothing to make plain first, no tags but those of bytes."""
    kind: Any = type(value)
    if kind is str or kind is bytes:
        return len(value) <= _LONG
    if kind is dict:
        if depth >= MAX_DEPTH:
            return False
        for key, item in value.items():  # a loop, since a generator costs more than what it goes through
            if type(key) is not str or key == _TAG or len(key) > _LONG:
                return False
            if not _is_simple(item, depth + 1):
                return False
        return True
    if kind is list:
        return depth < MAX_DEPTH and all(_is_simple(item, depth + 1) for item in value)
    if kind is int:
        return bool(value.bit_length() <= _WIDE_INT_BITS)
    if kind is float:
        return bool(value - value == 0)
    return value is None or kind is bool


# -- to bytes -----------------------------------------------------------------------------------


class _Encoder:
    """One encoding. `careful` also tags texts that are no valid Unicode, which UTF-8 refuses."""

    def __init__(self, *, careful: bool) -> None:
        self.careful = careful
        self.raw: list[bytes] = []
        self.size = 0

    def bytes_of(self, tree: Any) -> bytes:
        line = _dump(self.tagged(tree)).encode()
        return b"".join((line, b"\n", *self.raw)) if self.raw else line

    def tagged(self, value: Any) -> Any:
        match value:
            case str():
                return self._text(value)
            case bool() | None:
                return value
            case int():
                return value if value.bit_length() <= _WIDE_INT_BITS else {_TAG: "int", "v": hex(value)}
            case float():
                finite = value - value == 0
                return value if finite else {_TAG: "float", "v": repr(value)}
            case bytes():
                if len(value) > _LONG:
                    return self._aside("bytes", value)
                return _tagged_bytes(value)
            case list() | tuple():
                return [self.tagged(item) for item in value]
            case dict():
                return self._dict(value)
        return {_TAG: "opaque", "type": self.tagged(value.type_name), "text": self.tagged(value.text)}

    def _text(self, value: str) -> Any:
        if len(value) > _LONG:
            return self._aside("text", value.encode("utf-8", "surrogatepass"))
        if self._is_bare(value):
            return value
        return {_TAG: "text", "v": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}

    def _is_bare(self, text: str) -> bool:
        return len(text) <= _LONG and not (self.careful and _has_surrogates(text))

    def _dict(self, value: dict[Any, Any]) -> Any:
        if _TAG not in value and all(type(key) is str and self._is_bare(key) for key in value):
            return {key: self.tagged(value[key]) for key in sorted(value)}
        # Sorted by what a key is alone, not by where a long one comes to lie.
        pairs = sorted(value.items(), key=lambda pair: _Encoder(careful=self.careful).bytes_of(pair[0]))
        return {_TAG: "dict", "v": [[self.tagged(key), self.tagged(item)] for key, item in pairs]}

    def _aside(self, kind: str, data: bytes) -> dict[str, Any]:
        place = {_TAG: "raw", "kind": kind, "at": self.size, "size": len(data)}
        self.raw.append(data)
        self.size += len(data)
        return place


def _tagged_bytes(value: bytes) -> dict[str, str]:
    return {_TAG: "bytes", "v": base64.b64encode(value).decode()}


_json = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_tagged_bytes
)
_make: Any = getattr(json.encoder, "c_make_encoder", None)  # `_json` makes one for each value, which costs more than to use it
_parts: Any = _make(None, _tagged_bytes, json.encoder.encode_basestring, None, ":", ",", True, False, False) if _make else _json.iterencode


def _dump(value: Any) -> str:
    return "".join(_parts(value, 0))


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def spelled_out(text: str) -> str:
    """The same text for a column or a page: a lone surrogate, which UTF-8 cannot hold, is spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


# -- from bytes ---------------------------------------------------------------------------------


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _from_raw(pairs: dict[str, Any], raw: bytes) -> str | bytes:
    start, size = pairs["at"], pairs["size"]
    data = raw[start : start + size]
    if start < 0 or len(data) != size:
        raise ValueError("a raw part is missing")
    return data.decode("utf-8", "surrogatepass") if pairs["kind"] == "text" else data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is never written bare")


_TAG_WRITTEN = f'"{_TAG}"'.encode()
_decoder: Any = json.JSONDecoder(parse_constant=_no_constant)
_scan = _decoder.scan_once
"""For the many values that need no tags: no function of ours is called for each object."""


_UNTAG: dict[str, Callable[[dict[str, Any], bytes], Any]] = {
    "int": lambda pairs, _: int(pairs["v"], 16),
    "float": lambda pairs, _: float(pairs["v"]),
    "bytes": lambda pairs, _: _from_base64(pairs["v"]),
    "text": lambda pairs, _: _from_base64(pairs["v"]).decode("utf-8", "surrogatepass"),
    "dict": lambda pairs, _: {_hashable(key): item for key, item in pairs["v"]},
    "opaque": lambda pairs, _: Opaque(pairs["type"], pairs["text"]),
    "raw": _from_raw,
}


class Body(NamedTuple):
    """An encoded value, its name, and the plain value itself: what was just written need not be read back."""

    digest: Digest
    data: bytes
    value: Any


def body(value: Any) -> Body:
    """Encode a masked value for storing."""
    data = encode(value)
    return Body(digest(data), data, value)


def verified(name: str, data: bytes | None, what: str) -> Any:
    """Decode what was stored under a digest; RecordCorrupt if it is missing or not what was written."""
    if data is None or digest(data) != name:
        raise RecordCorrupt(f"{what} is not what was written.")
    return decode(data)
