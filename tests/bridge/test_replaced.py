"""What outlives its time must not act: a coroutine that was replaced, state that a provider kept for a dead process."""

from __future__ import annotations

import contextlib

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
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "please")
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    file = world.chat_file(chat)
    assert file is not None
    assert file["agents"][0]["data"]["responses_state"] == {"kept": "yes"}


KEEPER = '''
"""Remembers each answer for the next request, as the host does for the Responses API."""

from helpers.extension import Extension


class Keeper(Extension):
    def execute(self, **kwargs):
        self.agent.data["responses_state"] = {"response_id": "resp-1", "response_ids": ["resp-1"]}
'''
WITNESS = """
# Writes down what the next request would stand on.
import os

from helpers.extension import Extension


class Witness(Extension):
    async def execute(self, **kwargs):
        state = self.agent.data.get("responses_state", {})
        with open(os.environ["EFFECTS"] + ".asked", "a") as file:
            file.write(f"{state.get('response_id')} {len(state.get('response_ids', []))}\\n")
"""


def test_after_an_answer_that_was_given_back_the_whole_prompt_is_sent(world, model, tmp_path):
    """Its id comes back with it, so that the host can delete it with the chat; no request stands on it. The greeting is one, too."""
    added, before = "_functions/agent/Agent/hist_add_ai_response/end/_50_keeper.py", "chat_model_call_before/_50_witness.py"
    world.add_plugin("provider", {f"extensions/python/{added}": KEEPER, f"extensions/python/{before}": WITNESS})
    model.script(use("effect", arg="a"), use("effect", arg="b"), use("effect", arg="c"), answer("all done"))
    fault = {"FAULT": "after:finish_call.tool:2", "FAULT_MARK": str(tmp_path / "killed")}
    world.start(env=fault, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "please")
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    asked = (world.effects_file.with_name(world.effects_file.name + ".asked")).read_text().splitlines()
    assert asked == ["resp-1 1", "resp-1 1", "None 1", "None 1", "resp-1 1"]
