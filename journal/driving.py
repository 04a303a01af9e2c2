"""Runs what the engine does around a function, for a thread and for an event loop: one core, two drivers.

The core is a generator. It yields what has to be waited for, and gets the answer, or the error, where it stands.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from .arrivals import answer_of


@dataclass(frozen=True, slots=True)
class Effect:
    """A function of the caller that has to run now."""

    run: Callable[[], Any]

    @classmethod
    def of(cls, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Effect:
        return cls(partial(function, *args, **kwargs))


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


type Wanted = Future[Any] | Effect | Pause
type Work[T] = Generator[Wanted, Any, T]


def drive[T](work: Work[T]) -> T:
    """Do the work in this thread."""
    try:
        wanted = next(work)
        while True:
            try:
                got = _get(wanted)
            except BaseException as error:
                wanted = work.throw(error)
            else:
                wanted = work.send(got)
    except StopIteration as end:
        done: T = end.value
        return done


def _get(wanted: Wanted) -> Any:
    match wanted:
        case Effect():
            return wanted.run()
        case Pause():
            return time.sleep(wanted.seconds)
    return wanted.result()


async def drive_async[T](work: Work[T]) -> T:
    """Do the work in this event loop."""
    try:
        wanted = next(work)
        while True:
            try:
                got = await _await(wanted)
            except BaseException as error:
                wanted = work.throw(error)
            else:
                wanted = work.send(got)
    except StopIteration as end:
        done: T = end.value
        return done


async def _await(wanted: Wanted) -> Any:
    match wanted:
        case Effect():
            got = wanted.run()
            return await got if inspect.isawaitable(got) else got
        case Pause():
            return await asyncio.sleep(wanted.seconds)
    return await answer_of(wanted)  # who is cancelled while a result is being written does not take the result back
