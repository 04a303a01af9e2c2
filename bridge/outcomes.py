"""Which endings of a call prove nothing: the closed list behind `unknown` (I3).

A timeout, a broken connection or a cancellation says that we stopped listening, not
that the effect did not happen. Everything else that a tool returns or raises is its
own answer.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import Any

SILENT = (asyncio.CancelledError, TimeoutError, ConnectionError)  # a broken pipe is a ConnectionError

# Client libraries raise their own classes for a lost transport. Named, not imported:
# which of them a host ships differs. (module prefix, class names; an empty set is all.)
_TRANSPORT = {
    "httpx": {"TransportError", "StreamError"},
    "httpcore": {"NetworkError", "TimeoutException", "ProtocolError", "ConnectError"},
    "aiohttp": {"ClientConnectionError", "ClientPayloadError", "ServerTimeoutError"},
    "requests": {"ConnectionError", "Timeout", "ChunkedEncodingError"},
    "urllib3": {"HTTPError"},
    "anyio": {"BrokenResourceError", "ClosedResourceError", "EndOfStream"},
    "mcp": {"McpError"},
    "paramiko": {"SSHException"},
}


def proves_nothing(error: BaseException) -> bool:
    """Tell whether this error leaves open if the effect happened."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if isinstance(current, SILENT) or _is_transport(type(current)):
            return True
        current = current.__cause__
    return False


def _is_transport(kind: type[BaseException]) -> bool:
    for base in kind.__mro__:
        names = _TRANSPORT.get(base.__module__.partition(".")[0])
        if names is not None and base.__name__ in names:
            return True
    return False


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
