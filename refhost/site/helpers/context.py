"""Values that belong to the current asynchronous context. Copies of a context share one dict, as in the host."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

_context_data: ContextVar[dict[str, Any] | None] = ContextVar("_context_data", default=None)


def _data() -> dict[str, Any]:
    data = _context_data.get()
    if data is None:
        data = {}
        _context_data.set(data)
    return data


def set_context_data(key: str, value: Any) -> None:
    _data()[key] = value


def get_context_data(key: str | None = None, default: Any = None) -> Any:
    return _data() if key is None else _data().get(key, default)


def delete_context_data(key: str) -> None:
    _data().pop(key, None)


def clear_context_data() -> None:
    _context_data.set({})
