"""Which endings of a step prove nothing: the closed list behind `unknown` (I3).

A timeout, a broken connection or a cancellation says that we stopped listening, not that the effect did not happen.
Everything else that a step returns or raises is its own answer.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Mapping

SILENT = (asyncio.CancelledError, concurrent.futures.CancelledError, concurrent.futures.BrokenExecutor, TimeoutError, ConnectionError)

# Client libraries raise their own classes for a lost transport. Named, not imported: which of them are installed differs.
_TRANSPORT: Mapping[str, frozenset[str]] = {
    "httpx": frozenset({"TransportError", "StreamError"}),
    "httpcore": frozenset({"NetworkError", "TimeoutException", "ProtocolError", "ConnectError"}),
    "aiohttp": frozenset({"ClientConnectionError", "ClientPayloadError", "ServerTimeoutError"}),
    "requests": frozenset({"ConnectionError", "Timeout", "ChunkedEncodingError"}),
    "urllib3": frozenset({"HTTPError"}),
    "anyio": frozenset({"BrokenResourceError", "ClosedResourceError", "EndOfStream"}),
    "mcp": frozenset({"McpError"}),
    "smtplib": frozenset({"SMTPServerDisconnected"}),
    "aiogram": frozenset({"TelegramNetworkError"}),
    "paramiko": frozenset({"SSHException"}),
    "urllib": frozenset({"URLError"}),
    "http": frozenset({"HTTPException"}),
    "ssl": frozenset({"SSLError"}),
    "subprocess": frozenset({"TimeoutExpired"}),
}

_ANSWERS = frozenset({("urllib", "HTTPError")})
"""Derived from the above, and yet an answer of the other side."""


def proves_nothing(error: BaseException) -> bool:
    """Tell whether this error leaves open if the effect happened."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if isinstance(current, SILENT) or _is_transport(type(current)):
            return True
        if isinstance(current, BaseExceptionGroup) and any(proves_nothing(each) for each in current.exceptions):
            return True
        current = current.__cause__
    return False


def _is_transport(kind: type[BaseException]) -> bool:
    for base in kind.__mro__:
        package = base.__module__.partition(".")[0]
        if (package, base.__name__) in _ANSWERS:
            return False
        if base.__name__ in _TRANSPORT.get(package, ()):
            return True
    return False
