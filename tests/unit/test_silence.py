"""Which errors prove nothing (I3): a lost connection does not say that the other side did nothing."""

from __future__ import annotations

import asyncio
import concurrent.futures
import http.client
import io
import subprocess
import urllib.error
from email.message import Message

import pytest

from journal.silence import proves_nothing


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def named(module: str, name: str) -> Exception:
    """A class of a library that need not be installed."""
    kind = type(name, (Exception,), {})
    kind.__module__ = module
    return kind()


NOTHING = [
    TimeoutError(),
    BrokenPipeError(),
    asyncio.CancelledError(),
    concurrent.futures.CancelledError(),
    concurrent.futures.BrokenExecutor(),
    subprocess.TimeoutExpired("git push", 1),
    urllib.error.URLError(TimeoutError()),
    http.client.RemoteDisconnected(),
    http.client.IncompleteRead(b""),
    named("httpx", "TransportError"),
    named("requests.exceptions", "ConnectionError"),
    named("mcp.shared.exceptions", "McpError"),
    caused(RuntimeError("the client gave up"), ConnectionResetError()),
    ExceptionGroup("both", [ValueError(), ExceptionGroup("inner", [TimeoutError()])]),
]

ANSWERS = [
    ValueError(),
    OSError("no such file"),
    subprocess.CalledProcessError(1, "git push"),
    urllib.error.HTTPError("http://x", 500, "no", Message(), io.BytesIO()),
    named("httpx", "HTTPStatusError"),
    named("mine", "TransportError"),
    ExceptionGroup("both", [ValueError(), KeyError()]),
]


@pytest.mark.parametrize("error", NOTHING, ids=lambda error: type(error).__name__)
def test_a_lost_answer_proves_nothing(error: BaseException) -> None:
    assert proves_nothing(error)


@pytest.mark.parametrize("error", ANSWERS, ids=lambda error: type(error).__name__)
def test_what_a_step_says_itself_is_its_answer(error: BaseException) -> None:
    assert not proves_nothing(error)


def test_errors_that_cause_each_other_end() -> None:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first

    assert not proves_nothing(first)
