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
from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import RecordCorrupt
from .ids import Digest
from .values import MAX_DEPTH, WIDE_INT_BITS, Opaque, plain

_LONG = 64 * 1024
_TAG = "$"


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


# -- to bytes -----------------------------------------------------------------------------------


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
        return bool(value.bit_length() <= WIDE_INT_BITS)
    if kind is float:
        return bool(value - value == 0)
    return value is None or kind is bool


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
                return value if value.bit_length() <= WIDE_INT_BITS else {_TAG: "int", "v": hex(value)}
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


def _hashable(key: Any) -> Any:
    return tuple(_hashable(part) for part in key) if isinstance(key, list | tuple) else key


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
