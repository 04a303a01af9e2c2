"""What the host saved beside the run, in the background or by a subordinate, outlives the rebuild of the chat."""

from __future__ import annotations

import pytest

from refhost.model import answer, use
from tests.support.scenes import begin_effect, ended, script_effect
from tests.support.story import Panel


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


def test_steps_of_a_subordinate_in_the_saved_chat_are_not_a_use_of_the_chat(world, model, gate):
    first, second = use("effect", arg="first"), use("effect", arg="second", gate=str(gate))
    model.script(use("call_subordinate", message="do both", reset="true"), first, second, answer("both are done"), answer("done"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: "start second" in world.effects(), what="the second inner effect to start")
    world.restart()
    panel = Panel(world.client())

    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "outcome_unknown"
    assert panel.decide(detail, "confirmed_completed", "seen").status == 200

    assert ended(world, chat) == "completed"
    heard = "\n".join(str(message["content"]) for message in model.requests("chat")[-1].messages)
    assert heard.count("both are done") == 1


def test_a_held_chat_keeps_the_name_that_it_was_given_in_the_background(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    name = world.client().wait(lambda: (world.chat_file(chat) or {}).get("name"), what="the chat to be saved with its name")

    world.restart()

    detail = Panel(world.client()).wait_held(chat)
    assert (world.client().context(chat) or {})["name"] == name
    assert detail["run"]["title"] == name
