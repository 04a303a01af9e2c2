"""Answers of commits reach an event loop whole and in order, and a wait that is given up takes nothing back."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

import pytest

from journal.arrivals import answer_of


def other_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def run[T](waits: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(waits, 60))


def test_what_is_answered_together_wakes_the_loop_once() -> None:
    async def waits() -> tuple[list[int], int]:
        loop = asyncio.get_running_loop()
        calls = []
        call = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *args, **kwargs: calls.append(1) or call(*args, **kwargs)  # type: ignore[method-assign]
        futures: list[Future[int]] = [Future() for _ in range(50)]
        waiters = [answer_of(each) for each in futures]
        other_thread(lambda: [each.set_result(number) for number, each in enumerate(futures)] and None)
        woken = len(calls)
        return await asyncio.gather(*waiters), woken

    assert run(waits()) == (list(range(50)), 1)


def test_answers_that_come_one_after_another_all_arrive() -> None:
    async def waits() -> None:
        for _ in range(200):
            future: Future[int] = Future()
            waiter = answer_of(future)
            thread = threading.Thread(target=future.set_result, args=(7,))
            thread.start()
            assert await waiter == 7
            thread.join()

    run(waits())


def test_an_answer_that_is_there_already_arrives_and_so_does_an_error() -> None:
    async def waits() -> None:
        there: Future[str] = Future()
        there.set_result("yes")
        refused: Future[str] = Future()
        refused.set_exception(ValueError("no"))

        assert await answer_of(there) == "yes"
        with pytest.raises(ValueError, match="no"):
            await answer_of(refused)

    run(waits())


def test_who_stops_waiting_takes_nothing_back_and_disturbs_nobody() -> None:
    async def waits() -> None:
        future: Future[int] = Future()
        given_up, patient = answer_of(future), answer_of(future)
        given_up.cancel()
        await asyncio.sleep(0)

        assert not future.cancelled()
        future.set_result(1)
        assert await patient == 1

    run(waits())


def test_what_was_taken_back_is_a_cancellation_for_who_waits() -> None:
    async def waits() -> None:
        future: Future[int] = Future()
        waiter = answer_of(future)
        future.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter

    run(waits())


def test_an_answer_for_a_loop_that_is_gone_harms_nobody_and_keeps_nothing() -> None:
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    def answered_too_late() -> int:
        future: Future[int] = Future()

        async def gives_up() -> None:
            loops.append(weakref.ref(asyncio.get_running_loop()))
            answer_of(future)

        run(gives_up())
        future.set_result(1)
        return future.result()

    assert answered_too_late() == 1
    gc.collect()
    assert loops[0]() is None
