"""Utility calls beside the turn: once over a crash, never in its way; compression at every place, with real kills."""

from __future__ import annotations

import pytest

from refhost.client import Client
from refhost.model import answer, raw, use, with_
from refhost.world import World
from tests.support.scenes import calls, ended
from tests.support.story import FAULTS, Panel

NAME = "A name for it"
FORGET = """
from helpers.extension import Extension

class Forget(Extension):
    \"\"\"From the second step on the turn's own message is gone from the history, as after a compression of a very long turn.\"\"\"

    def execute(self, loop_data=None, **kwargs):
        if loop_data.iteration >= 1:
            history, gone = self.agent.history, self.agent.last_user_message.id
            for topic in (*history.topics, history.current):
                topic.messages = [message for message in topic.messages if message.id != gone]
"""


def background(world, chat):
    panel = Panel(world.client())
    run = next(run for run in panel.all_runs() if run["chat_id"] == chat)
    return [(call["purpose"], call["status"]) for call in panel.run(run["run_id"])["background"]]


def begun(world, model, gate, *, text="please"):
    """A chat that waits in its effect."""
    model.script(use("effect", arg="a", gate=str(gate)), answer("all done"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, text)
    client.wait(lambda: "start a" in world.effects(), what="the effect to start")
    return client, chat


def go_on(world, chat):
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert panel.decide(detail, "confirmed_completed", "The outside file has the line.").status == 200
    assert ended(world, chat) == "completed"


def test_a_utility_call_is_recorded_beside_the_steps_of_the_run(world, model, gate):
    gate.touch()
    model.script(raw(NAME), kind="utility")
    client, chat = begun(world, model, gate)
    client.wait_idle(chat)
    client.wait(lambda: (client.context(chat) or {})["name"] == NAME, what="the name")
    client.wait(lambda: background(world, chat) == [("naming", "saved")], what="its record")

    assert [call["kind"] for call in calls(world, chat)] == ["model", "tool", "model", "tool"]


def test_a_chat_that_is_deleted_while_it_is_being_named_stays_deleted(world, model):
    """The host writes the file of the chat that it has named, whatever became of the chat meanwhile."""
    model.script(with_(raw(NAME), gate="name"), kind="utility")
    model.script(answer("all done"), repeat=True)
    client = world.start().client()
    chat = client.create_chat()
    client.say(chat, "please")
    client.wait(lambda: world.chat_file(chat), what="the file of the chat")
    client.wait(lambda: len(model.requests("utility")) == 1, what="the question for a name")

    client.remove(chat)
    assert world.chat_file(chat) is None
    model.release("name")
    client.wait(lambda: background(world, chat) == [("naming", "saved")], what="its record")
    client.say(client.create_chat(), "another")  # in the same loop, after all that the name lets go on

    assert world.chat_file(chat) is None


def test_a_resumed_run_does_not_name_its_chat_twice(world, model, gate):
    model.script(raw(NAME), kind="utility")
    client, chat = begun(world, model, gate)
    client.wait(lambda: background(world, chat) == [("naming", "saved")], what="its record")

    world.restart()
    go_on(world, chat)

    assert len(model.requests("utility")) == 1
    assert background(world, chat) == [("naming", "reused")]
    assert world.client().context(chat)["name"] == NAME


def test_a_utility_call_that_a_kill_cut_off_is_dropped_and_neither_holds_nor_repeats(world, model, gate):
    model.script(with_(raw(NAME), gate="never"), kind="utility")
    _, chat = begun(world, model, gate)
    model.wait_requests(1, "utility")

    world.restart()
    go_on(world, chat)

    assert len(model.requests("utility")) == 1
    assert background(world, chat) == [("naming", "interrupted")]
    assert [call["kind"] for call in calls(world, chat)] == ["model", "tool", "model", "tool"]


def test_a_utility_call_does_not_hold_a_run_that_has_nothing_else_open(world, model, tmp_path):
    """Killed when the wait is written down."""
    model.script(with_(raw(NAME), gate="never"), kind="utility")
    model.script(with_(use("wait", seconds=1), gate="go"), answer("all done"))
    client = world.start(env={"FAULT": "after:begin_call.tool:1", "FAULT_MARK": str(tmp_path / "killed")}, inject=FAULTS).client()
    chat = client.create_chat()
    client.send(chat, "please")
    model.wait_requests(1, "utility")
    model.release("go")
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    assert Panel(world.client()).needs_you() == []
    assert len(model.requests("chat")) == 2


# -- compression ----------------------------------------------------------------------------------


def long_chat(world: World, model, turns: int = 3) -> tuple[Client, str]:
    """A chat whose history is over its limit at the end of its last turn."""
    model.script(*(answer(f"answer {number} {'x' * 400}") for number in range(turns)), when=None)
    client = world.start().client()
    chat = client.create_chat()
    for number in range(turns):
        client.say(chat, f"question {number}")
    client.wait(lambda: len(compressions(model)) == turns - 1, what="the compression at the end of each turn but the first")
    return client, chat


def compressions(model):
    return [request for request in model.requests("utility") if "Sum up" in request.system]


@pytest.fixture
def small(tmp_path, model):
    """A host that compresses early."""
    with World(tmp_path / "small", model=model, env={"HISTORY_TOKENS": "250"}) as made:
        yield made


@pytest.mark.parametrize("when", ["asked", "answered"])
def test_utility_compression_that_is_cut_off_in_an_open_run_breaks_no_resume(small, model, gate, when):
    world = small
    client, chat = long_chat(world, model)
    client.wait_idle(chat)
    already = len(compressions(model))
    model.script(with_(raw("A SUMMARY"), gate="compress"), kind="utility", when="x" * 100, repeat=True)
    model.script(use("effect", arg="a", value="y" * 900), use("effect", arg="b", gate=str(gate)), answer("all done"))
    client.send(chat, "now the effect")
    client.wait(lambda: len(compressions(model)) > already, what="the compression")
    if when == "answered":
        model.release("compress")
        client.wait(lambda: "start b" in world.effects(), what="the second effect")

    world.restart()
    model.release("compress")
    panel = Panel(world.client())
    if when == "answered":
        panel.decide(panel.wait_held(chat), "confirmed_completed", "The outside file has the line.")
    else:
        gate.touch()

    assert ended(world, chat) == "completed"
    prompt = model.requests("chat")[-1].prompt
    assert prompt.count("now the effect") == 1
    assert prompt.count(f'"tool_result": "{"y" * 900}"') == 1
    assert world.effects().count("start a") == world.effects().count("start b") == 1
    assert model.unscripted() == []


def test_a_message_that_was_compressed_away_does_not_come_again_as_a_new_request(world, model, gate):
    world.add_plugin("forget", {"extensions/python/message_loop_start/_50_forget.py": FORGET})
    model.script(use("effect", arg="a"), use("effect", arg="b", gate=str(gate)), answer("all done"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: "start b" in world.effects(), what="the second effect")

    world.restart()
    go_on(world, chat)

    asked = model.requests("chat")
    assert '"user_message": "please"' in asked[0].prompt
    assert [request.prompt.count('"user_message": "please"') for request in asked[1:]] == [0, 0]
