"""A decision that is made while the coroutine is still on its way to where it waits: Recovery shows a hold as soon as it is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from refhost.model import Model, answer, use
from refhost.world import World
from tests.bridge.test_parallel import below, told, tool
from tests.support.scenes import calls, ended
from tests.support.story import Panel

BUSY_LOOP = """
# Another chat keeps the loop busy between a recorded hold and the wait for its decision, until a moment after the decision.
import asyncio
import threading

from usr.plugins.durable_execution.bridge import jobs
from usr.plugins.durable_execution.bridge.session import Session

decided = threading.Event()
park, released = Session._park, jobs.released


async def late(self, *here):
    while not decided.is_set():
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)
    await park(self, *here)


def seen(*args):
    decided.set()
    released(*args)


Session._park, jobs.released = late, seen
"""


@pytest.fixture
def busy(world: World, tmp_path: Path) -> World:
    (world.plugin_folder / "config.json").write_text('{"live_unknown": "hold"}', "utf-8")
    inject = tmp_path / "busy_loop.py"
    inject.write_text(BUSY_LOOP, "utf-8")
    return world.start(inject=inject)


def begin(world: World) -> str:
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    return chat


def decide(world: World) -> None:
    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(), "confirmed_completed", "seen outside", result_text="result-of-a").status == 200


def test_the_turn_goes_on_and_nobody_is_asked_again(busy: World, model: Model) -> None:
    model.script(answer("all done"), when="result-of-a", repeat=True)
    model.script(use("effect", arg="a", before="timeout"), when="please", repeat=True)
    chat = begin(busy)

    decide(busy)

    assert ended(busy, chat) == "completed"
    assert busy.effects() == ["start a"]
    assert len(model.requests("chat")) == 2
    assert "reused" not in [call["status"] for call in calls(busy, chat)]  # it went on where it was, and did not begin anew
    assert "_durable_execution" not in busy.client().context(chat)


@pytest.mark.parametrize("has_chat", [False, True])
def test_so_does_a_job(busy: World, model: Model, has_chat: bool) -> None:
    model.script(answer("sub done"), when="result-of-a")
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("effect", arg="a", before="timeout"), when="sub one")
    model.script(use("parallel", tool_calls=[below("sub one") if has_chat else tool("a", before="timeout")]), when="please")
    chat = begin(busy)

    decide(busy)

    assert ended(busy, chat) == "completed"
    assert told(model) == [("success", "sub done" if has_chat else "result-of-a")]
    assert busy.effects() == ["start a"]
