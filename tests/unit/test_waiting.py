"""How long a hook waits for a commit, and what it hears then."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future

import pytest
from usr.plugins.durable_execution.bridge import waiting


def test_an_answer_that_was_there_while_others_held_the_loop_up_counts() -> None:
    async def held_up() -> int:
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()
        asyncio.get_running_loop().call_soon(others, future)
        return await waiting.answered(future, 0.02)

    def others(future: Future[int]) -> None:
        future.set_result(1)
        time.sleep(0.1)

    assert asyncio.run(held_up()) == 1


def test_what_is_not_answered_in_time_is_taken_back() -> None:
    future: Future[int] = Future()

    with pytest.raises(TimeoutError):
        asyncio.run(waiting.answered(future, 0.02))

    assert future.cancelled()


def test_what_is_being_written_when_the_time_is_over_is_no_answer() -> None:
    future: Future[int] = Future()
    future.set_running_or_notify_cancel()

    with pytest.raises(TimeoutError):
        asyncio.run(waiting.answered(future, 0.02))
