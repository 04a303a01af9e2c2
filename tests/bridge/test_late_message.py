"""A message that comes after the turn's last look for messages: the host would lose it, here it is the next turn."""

from __future__ import annotations

import uuid

import pytest

from refhost.model import answer, raw
from tests.support.story import FAULTS, Panel

SLOW_END = """
import asyncio, os
from pathlib import Path
from helpers.extension import Extension

class SlowEnd(Extension):
    async def execute(self, **kwargs):
        Path(os.environ["AT_END"]).touch()
        while not Path(os.environ["GO_ON"]).exists():
            await asyncio.sleep(0.02)
"""

SLOW_RESET = """
import time
from helpers.extension import Extension

class SlowReset(Extension):
    def execute(self, **kwargs):
        time.sleep(0.5)
"""


def at_the_end(world, model, tmp_path, **more):
    """A chat whose first turn has its answer and stands on its last lines; a second message was acknowledged there."""
    model.script(answer("first answer"), when="first question")
    model.script(answer("second answer"), when="second question")
    world.add_plugin("slow_end", {"extensions/python/monologue_end/_99_slow_end.py": SLOW_END})
    env = {"AT_END": str(tmp_path / "at_end"), "GO_ON": str(tmp_path / "go_on"), **more}
    world.start(env=env, inject=FAULTS if more else None)
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "first question", uuid.uuid4().hex)
    client.wait((tmp_path / "at_end").exists, what="the end of the turn")
    model.clear()
    model.script(answer("second answer"))
    client.send(chat, "second question", uuid.uuid4().hex)
    (tmp_path / "go_on").touch()
    return chat, env


def assert_both_answered_once(world, model, chat):
    client = world.client()
    client.wait_log(chat, type="response", text="second answer")
    client.wait(lambda: [r["state"] for r in Panel(client).all_runs()] == ["completed", "completed"], what="both runs to end")
    assert [i["content"] for i in client.logs(chat) if i["type"] == "user"] == ["first question", "second question"]
    assert len(model.requests("chat")) == 2
    assert model.requests("chat")[-1].prompt.count("second question") == 1


def test_a_message_after_the_last_look_becomes_the_next_turn(world, model, tmp_path):
    chat, _ = at_the_end(world, model, tmp_path)

    assert_both_answered_once(world, model, chat)


def test_it_becomes_the_next_turn_also_when_the_server_dies_in_between(world, model, tmp_path):
    fault = {"FAULT": "after:close_run:1", "FAULT_MARK": str(tmp_path / "killed")}
    chat, env = at_the_end(world, model, tmp_path, **fault)
    world.wait_dead()

    world.start(env=env, inject=FAULTS)

    assert_both_answered_once(world, model, chat)


@pytest.mark.parametrize("slow", [False, True])
def test_it_does_not_go_on_in_a_chat_that_is_deleted_before_its_turn_is_over(world, model, tmp_path, slow):
    """The host ends the chat's task first, and forgets the chat a moment later: a turn that begins in between is stopped."""
    over = tmp_path / "over"
    last_lines = SLOW_END.replace("AT_END", "LAST_LINES").replace("GO_ON", "OVER")
    world.add_plugin("last_lines", {"extensions/python/_functions/agent/AgentContext/_process_chain/end/_99_last.py": last_lines})
    if slow:
        world.add_plugin("slow_reset", {"extensions/python/_functions/agent/AgentContext/reset/end/_99_slow.py": SLOW_RESET})
    chat, _ = at_the_end(world, model, tmp_path, LAST_LINES=str(tmp_path / "last_lines"), OVER=str(over))
    client = world.client()
    client.wait((tmp_path / "last_lines").exists, what="the last lines of the turn")
    assert [run["state"] for run in Panel(client).all_runs()] == ["completed"]
    model.clear()
    model.script(answer("late", gate="never"), when="second question")
    model.script(raw("A name", gate="never"), kind="utility")

    client.remove(chat)
    over.touch()

    model.script(answer("elsewhere"), when="another chat")
    assert client.say(client.create_chat(), "another chat") == "elsewhere"
    runs = [run for run in Panel(client).all_runs() if run["chat_id"] == chat]
    assert [run["state"] for run in runs] in (["completed"], ["stopped", "completed"])
    assert world.chat_file(chat) is None
