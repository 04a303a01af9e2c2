"""How a call ended: whether that proves anything (`journal/silence.py` has the list), and its error, recorded and made again."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..journal.silence import proves_nothing

__all__ = ["describe", "proves_nothing", "rebuild"]


def describe(error: BaseException) -> dict[str, Any]:
    """What is recorded of an error, so that a replay can raise the same class again, or its nearest base."""
    kinds = [kind for kind in type(error).__mro__ if issubclass(kind, Exception)]
    names = [[kind.__module__, kind.__qualname__] for kind in kinds]
    return {"module": type(error).__module__, "name": type(error).__qualname__, "text": _text(error), "kinds": names}


def rebuild(recorded: dict[str, Any]) -> Exception:
    """Make an error of the recorded class without running its constructor.

    A tool's own class cannot be found again, since tools are loaded by path: its nearest
    base is taken, so that the host treats it as before.
    """
    text = str(recorded.get("text", ""))
    for module, name in recorded.get("kinds", []):
        error = _made(_found(module, name), str(recorded.get("name", "")), text)
        if error is not None:
            return error
    return RuntimeError(text)


def _found(module: str, name: str) -> object:
    try:
        kind: object = sys.modules.get(module) or importlib.import_module(module)
        for part in name.split("."):
            kind = getattr(kind, part)
    except Exception:  # an import may raise anything; then this class is not to be had
        return None
    return kind


def _made(kind: object, name: str, text: str) -> Exception | None:
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    try:
        shaped = type(kind.__name__, (kind,), {"__init__": lambda self: None, "__str__": lambda self: text})
        shaped.__module__, shaped.__qualname__ = kind.__module__, name or kind.__qualname__
        error: Exception = shaped()
    except Exception:  # a class that cannot be derived from or made without arguments
        return None
    return error


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # an error whose own text raises is still an outcome
        return f"{type(error).__name__} (its text could not be read: {type(broken).__name__})"
