"""The same turns for coroutines: one core, so only what differs is tested here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from journal import AsyncTurn, Checked, Choice, RunHeld, Safe, StepFailed, TurnFailed, done
from journal.driving import Work, drive_async
from journal.errors import NotRunning
from journal.evidence import Finding
from journal.records import HoldReason
from tests.support.agents import ORIGIN, Agent


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path)
    agent.open()
    yield agent
    agent.close()


def run(agent: Agent, loop: Any, **content: Any) -> Any:
    assert agent.turns is not None
    return asyncio.run(agent.turns.run_async("chat", "m", loop, **content))


limits: list[asyncio.Timeout] = []


def time_limit() -> asyncio.Timeout:
    """A time limit that expires when `expire` is called, and not before."""
    limits.append(asyncio.timeout(None))
    return limits[-1]


def expire() -> None:
    limits[-1].reschedule(asyncio.get_running_loop().time())


def test_coroutines_and_functions_are_steps_side_by_side_and_are_served_in_order(agent: Agent) -> None:
    async def slow(number: int) -> int:
        if number == 0:
            await second_is_done.wait()
        agent.outside.add(str(number))
        second_is_done.set()
        return number

    second_is_done = asyncio.Event()

    async def loop(turn: AsyncTurn, first: int) -> list[int]:
        await turn.step("model", str, first)
        numbers: list[int] = await asyncio.gather(*(turn.step(f"tool:{number}", slow, number) for number in range(first, first + 2)))
        if len(agent.outside.lines) == 2:
            agent.outside.add("interrupted")
            raise KeyboardInterrupt
        return numbers

    with pytest.raises(KeyboardInterrupt):
        run(agent, loop, first=0)
    assert agent.outside.lines == ["1", "0", "interrupted"]
    agent.open()

    assert run(agent, loop, first=0) == [0, 1]
    assert run(agent, loop, first=0) == [0, 1]
    assert agent.outside.lines == ["1", "0", "interrupted"]


def test_a_cancelled_step_is_unknown_and_the_cancellation_goes_on(agent: Agent) -> None:
    async def endless() -> None:
        agent.outside.add("begun")
        await asyncio.sleep(60)

    async def loop(turn: AsyncTurn) -> None:
        await turn.step("tool:call_1", endless)

    async def cancelled() -> None:
        assert agent.turns is not None
        async with asyncio.timeout(60):
            task = asyncio.create_task(agent.turns.run_async("chat", "m", loop))
            while not agent.outside.lines:
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelled())

    assert agent.turns is not None
    (waiting,) = agent.turns.held()
    assert (waiting.reason, waiting.steps) == (HoldReason.OUTCOME_UNKNOWN, ["tool:0:0:call_1"])
    agent.turns.decide(waiting, Choice.CONFIRMED_COMPLETED, origin=ORIGIN, note="seen")
    run(agent, loop)
    assert agent.outside.lines == ["begun"]


def test_a_time_limit_inside_the_loop_holds_the_run(agent: Agent) -> None:
    async def endless() -> None:
        expire()
        await asyncio.sleep(60)

    async def loop(turn: AsyncTurn) -> str:
        try:
            async with time_limit():
                await turn.step("tool:call_1", endless)
        except TimeoutError:
            await turn.step("model", str, "it timed out")
        return "never"

    with pytest.raises(RunHeld) as stop:
        run(agent, loop)
    assert stop.value.held.steps == ["tool:0:0:call_1"]


def test_a_cancelled_step_that_may_run_again_ends_this_life_of_the_turn_only(agent: Agent) -> None:
    async def read() -> str:
        agent.outside.add("read")
        if len(agent.outside.lines) == 1:
            expire()
            await asyncio.sleep(60)
        return "text"

    async def loop(turn: AsyncTurn) -> Any:
        try:
            async with time_limit():
                return await turn.step("tool:call_1", read)
        except TimeoutError:
            return await turn.step("model", str, "it timed out")

    agent.open([Safe(read)])
    with pytest.raises(NotRunning):
        run(agent, loop)

    assert run(agent, loop) == "text"


def test_a_cancellation_does_not_take_back_what_is_being_written() -> None:
    result: Future[str] = Future()

    def work() -> Work[str]:
        return (yield result)

    async def cancelled() -> None:
        task = asyncio.create_task(drive_async(work()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert result.set_running_or_notify_cancel(), "it can still be written"


def test_errors_and_checks_of_coroutines(agent: Agent) -> None:
    async def fails() -> None:
        raise ValueError("no")

    async def times_out() -> None:
        agent.outside.add("sent")
        raise TimeoutError

    async def look() -> Finding:
        return done("found", str(agent.outside.lines))

    async def loop(turn: AsyncTurn) -> Any:
        with pytest.raises(StepFailed, match="ValueError: no"):
            await turn.step("tool:a", fails)
        return await turn.step("tool:b", times_out)

    agent.open([Checked(times_out, look)])

    assert run(agent, loop) == "found"


def test_a_turn_does_not_fail_while_a_step_beside_the_failed_one_is_going_on(agent: Agent) -> None:
    async def fails() -> None:
        await begun.wait()
        raise ValueError("no")

    async def lasts() -> str:
        agent.outside.add("begun")
        begun.set()
        await go_on.wait()
        return "done"

    async def loop(turn: AsyncTurn) -> Any:
        return await asyncio.gather(turn.step("tool:a", fails), turn.step("tool:b", lasts))

    begun, go_on = asyncio.Event(), asyncio.Event()

    async def story() -> None:
        assert agent.turns is not None
        with pytest.raises(RunHeld) as stop:
            await agent.turns.run_async("chat", "m", loop)
        assert stop.value.held.steps == ["tool:0:1:b"]
        go_on.set()
        async with asyncio.timeout(60):
            while agent.turns.held()[0].steps:
                await asyncio.sleep(0.005)
        agent.turns.decide(agent.turns.held()[0], Choice.RESUME, origin=ORIGIN)
        with pytest.raises(TurnFailed, match="ValueError: no"):
            await agent.turns.run_async("chat", "m", loop)

    asyncio.run(story())

    assert agent.outside.lines == ["begun"]


def test_a_plain_turn_refuses_coroutine_functions_before_anything_is_written(agent: Agent) -> None:
    async def effect() -> None:
        agent.outside.add("ran")

    def loop(turn: Any) -> None:
        with pytest.raises(TypeError, match="run_async"):
            turn.step("tool", effect)

    agent.open([Safe(effect)])
    agent.run(loop)

    assert agent.outside.lines == []
