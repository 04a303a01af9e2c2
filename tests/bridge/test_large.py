"""A large output of a tool or a model: saved in a file, reused after a crash, and no other chat waits for it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest
from usr.plugins.durable_execution.bridge import waiting
from usr.plugins.durable_execution.journal.store.bodies import LARGE

from refhost.model import answer, use
from tests.support.scenes import calls, ended
from tests.support.story import FAULTS

SIZE = 2 * LARGE


@pytest.mark.crash
def test_a_large_result_is_reused_after_a_crash(world, model, tmp_path):
    """The server is killed when the result is saved and before anything has acted on it."""
    fault = {"FAULT": "after:finish_call.tool:1", "FAULT_MARK": str(tmp_path / "killed")}
    model.script(use("effect", arg="big", size=SIZE), answer("done"))
    world.start(env=fault, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    world.wait_dead()
    files = [path for path in (world.data_folder / "blobs").rglob("*") if path.is_file()]
    assert files
    assert all(path.stat().st_size > LARGE for path in files)
    assert (world.data_folder / "journal.db-wal").stat().st_size < SIZE

    world.start(env=fault, inject=FAULTS)

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start big", "end big"]
    assert calls(world, chat)[1]["status"] == "reused"
    heard = [str(message["content"]) for message in model.requests("chat")[-1].messages]
    assert sum("x" * 1000 in text for text in heard) == 1


def test_a_large_value_is_submitted_beside_the_loop_and_a_small_one_on_it():
    threads: list[str] = []

    def submit() -> Future[int]:
        threads.append(threading.current_thread().name)
        future: Future[int] = Future()
        future.set_result(1)
        return future

    async def both() -> list[int]:
        return [await waiting.durable(submit, lambda why: None, large=large) for large in (False, True)]

    assert asyncio.run(both()) == [1, 1]
    assert threads == [threading.current_thread().name, "durable-large"]


def test_whoever_is_cancelled_while_a_large_value_is_saved_does_not_take_it_back():
    saved, go = threading.Event(), threading.Event()

    def submit() -> Future[int]:
        assert go.wait(30)
        saved.set()
        return Future()

    async def cancelled() -> None:
        task = asyncio.create_task(waiting.durable(submit, lambda why: None, large=True))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    go.set()
    assert saved.wait(30)


@pytest.mark.parametrize(
    ("value", "large"),
    [
        ("x" * LARGE, False),
        ("x" * (LARGE + 1), True),
        (b"x" * (LARGE + 1), True),
        ({"a": ["x" * LARGE, ("y",)]}, True),
        ({"a": object(), "b": None}, False),
        (["x"] * 1_000_000, False),
    ],
)
def test_what_counts_as_large(value, large):
    assert waiting.is_large(None, value) is large
