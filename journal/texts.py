"""Stored values as text that any page can draw: cut where it is long, and saying so. Decides nothing, masks by the given masker."""

from __future__ import annotations

import json
import math
from typing import Any

from . import codec
from .masking import Masker
from .records import CallKind
from .values import Opaque, unused_key

_MOST_ARGUMENT = 4_000
_MOST_RESULT = 64 * 1024
_MOST_SUMMARY = 120
_TELLING = ("code", "command")
_SAID = ("message", "response", "text")
"""Parts of a result that are what a person would call the result."""


def summary(kind: CallKind, name: str, arguments: Any) -> str:
    """One line that says what a step is about; a name alone where the arguments say nothing short."""
    if kind.is_inference:
        return "Model call" if kind is CallKind.MODEL else "Background model call"
    if kind is CallKind.DELIVERY and isinstance(arguments, dict):
        return f"Reply by {arguments.get('via', 'an integration')} to {arguments.get('to', 'somebody')}"[:_MOST_SUMMARY]
    values = [arguments]
    if isinstance(arguments, dict):
        # a command says what it does; the other arguments say how
        values = next(([arguments[key]] for key in _TELLING if isinstance(arguments.get(key), str)), list(arguments.values()))
    words = " ".join(str(shown(value)) for value in values if isinstance(value, str | int) and not isinstance(value, bool))
    line = " ".join(words.split()) or name
    return line if len(line) <= _MOST_SUMMARY else f"{line[:_MOST_SUMMARY]}…"


def shown(value: Any) -> Any:
    """A stored value as JSON that any page can draw; long texts are cut and say so."""
    match value:
        case str():
            text = codec.spelled_out(value)
            return text if len(text) <= _MOST_ARGUMENT else f"{text[:_MOST_ARGUMENT]}… ({len(text) - _MOST_ARGUMENT} more characters)"
        case bool() | None:
            return value
        case int():
            return value if abs(value) < 2**53 else hex(value) if value.bit_length() > 512 else str(value)
        case float():
            return value if math.isfinite(value) else repr(value)
        case bytes():
            return f"({len(value)} bytes)"
        case dict():
            return _shown_dict(value)
        case Opaque():
            return shown(f"{value.type_name}: {value.text}")
        case list() | tuple():
            return [shown(item) for item in value]
    return str(value)


def _shown_dict(value: dict[Any, Any]) -> dict[str, Any]:
    """Two names that look alike are both shown: a person decides about what stands here."""
    result: dict[str, Any] = {}
    for key, item in value.items():
        result[unused_key(str(shown(key)), result)] = shown(item)
    return result


def result_text(value: Any, masker: Masker) -> str | None:
    """A saved result as text; None where it is too long to be shown."""
    if isinstance(value, dict):
        value = next((value[key] for key in _SAID if isinstance(value.get(key), str)), value)
    if isinstance(value, str):
        text = masker.text(value) if len(value) <= _MOST_RESULT else value
    else:
        text = json.dumps(shown(masker.mask(value).value), ensure_ascii=False, indent=1)
    data = text.encode("utf-8", "backslashreplace")
    return data.decode() if len(data) <= _MOST_RESULT else None
