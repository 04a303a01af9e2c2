"""What outlives its time must not act: a coroutine that was replaced, state that a provider kept for a dead process."""

from __future__ import annotations

from refhost.model import answer, use
from tests.support.scenes import ended
from tests.support.story import FAULTS, Panel

STUBBORN = '''
"""Does not end when it is cancelled, as a tool that catches everything."""

import asyncio, os
from pathlib import Path

from helpers import tool


class Stubborn(tool.Tool):
    async def execute(self, gate="", **kwargs):
        asyncio.current_task().add_done_callback(lambda task: Path(gate + ".ended").touch())
        with open(os.environ["EFFECTS"], "a") as file:
            file.write(f"stubborn {os.getpid()}\\n")
        while not Path(gate).exists():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        return tool.Response(message="too late", break_loop=False)
'''
PROVIDER = '''
"""Leaves in the agent what the Responses API leaves there."""

import os

from helpers.extension import Extension


class Provider(Extension):
    async def execute(self, **kwargs):
        if os.environ.get("PROVIDER"):
            self.agent.data["responses_state"] = {"response_id": "resp-of-a-dead-process", "kept": "yes"}
'''


def test_a_coroutine_that_outlives_its_replacement_starts_nothing(world, model, gate):
    world.add_plugin("stubborn", {"tools/stubborn.py": STUBBORN})
    model.script(answer("all done", gate="go"), when="it happened", repeat=True)
    model.script(use("stubborn", gate=str(gate)), when="please", repeat=True)
    world.start()
    client, panel = world.client(), Panel(world.client())
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: world.effects() == ["stubborn"], what="the effect to start")
    client.nudge(chat)
    panel.decide(panel.wait_held(chat), "confirmed_completed", "seen outside", result_text="it happened")
    model.wait_requests(2)

    gate.touch()
    client.wait(gate.with_name(f"{gate.name}.ended").exists, what="the old coroutine to end")

    assert len(model.requests("chat")) == 2
    model.release("go")
    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 2
    assert world.effects() == ["stubborn"]
    assert "too late" not in model.requests("chat")[-1].prompt


def test_what_a_provider_kept_for_the_dead_process_is_dropped_and_the_rest_stays(world, model, tmp_path):
    world.add_plugin("provider", {"extensions/python/message_loop_start/_50_provider.py": PROVIDER})
    model.script(answer("all done"), repeat=True)
    fault = {"FAULT": "after:finish_call.model:1", "FAULT_MARK": str(tmp_path / "killed"), "PROVIDER": "1"}
    world.start(env=fault, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    file = world.chat_file(chat)
    assert file is not None
    assert file["agents"][0]["data"]["responses_state"] == {"kept": "yes"}
