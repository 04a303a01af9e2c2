"""What happened while the plugin was off: nothing is overwritten, nothing runs twice, what is as it was goes on (I6)."""

from __future__ import annotations

import contextlib

import pytest

from refhost.model import answer, raw, use
from tests.support.scenes import Saying, begin_effect, calls, ended, errors, hold_in_effect, script_effect, wait_status
from tests.support.story import FAULTS, Panel


def test_off_by_hand_in_the_middle_of_a_tool_passes_silently_and_the_call_stays_unknown(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    chat = client.create_chat()
    saying = Saying(world, chat, "please")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    world.toggle_file(False)
    wait_status(world, active=False)
    gate.touch()
    saying.join(60)

    assert saying.answer == "all done"
    assert errors(world, chat) == []
    assert world.effects() == ["start a", "end a"]
    client.wait_idle(chat)
    client.toggle(True)
    assert Panel(client).wait_held(chat)["run"]["reason"]["code"] == "chat_moved_on"
    assert [c["outcome"] for c in calls(world, chat) if c["kind"] == "tool"] == ["open"]


def test_on_again_while_a_turn_goes_on_without_us_leaves_it_alone(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    chat = begin_effect(world)
    world.toggle_file(False)
    wait_status(world, active=False)

    client.toggle(True)

    assert Panel(client).wait_held(chat)["run"]["reason"]["code"] == "chat_moved_on"
    gate.touch()
    client.wait_log(chat, "response", "all done")
    client.wait_idle(chat)
    assert errors(world, chat) == []
    assert world.effects() == ["start a", "end a"]
    assert len(model.requests("chat")) == 2


def test_off_while_a_turn_waits_inside_a_hook_for_a_decision_ends_it_without_an_effect(world, model, tmp_path):
    model.script(answer("all done"), repeat=True)
    world.start(env={"FAULT": "after:begin_call.tool:1", "FAULT_MARK": str(tmp_path / "killed")}, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "please")
    world.wait_dead()
    source = (world.folder / "tools/response.py").read_text()
    world.add_plugin("other", {"tools/response.py": f"{source}\n# of another plugin\n"})
    world.start()
    client, panel = world.client(), Panel(world.client())
    panel.wait_held(chat)
    client.wait(lambda: "_durable_execution" in client.context(chat), what="the turn to stand in the hook")
    assert client.running(chat)

    client.toggle(False)

    client.wait_idle(chat)
    assert errors(world, chat) == []
    client.toggle(True)
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "outcome_unknown"
    assert panel.decide(detail, "confirmed_completed", "seen", result_text="all done").status == 200
    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 1


@pytest.mark.parametrize("way", ["live", "restart"])
@pytest.mark.parametrize(
    ("meanwhile", "reason"),
    [("say", "chat_moved_on"), ("reset", "chat_moved_on"), ("remove", "chat_gone")],
)
def test_what_happened_to_a_held_chat_while_off_is_never_overwritten(world, model, gate, way, meanwhile, reason):
    model.script(answer("unrecorded answer"), when="while off", repeat=True)
    script_effect(model, gate)
    world.start()
    held = hold_in_effect(world)
    client = world.client()
    client.toggle(False)
    client.say(held, "while off") if meanwhile == "say" else getattr(client, meanwhile)(held)
    client.wait(lambda: not client.running(held), what="the turn to end")
    history = None if meanwhile == "remove" else client.history(held)

    if way == "restart":
        world.toggle_file(True)
        world.restart()
    else:
        client.toggle(True)

    client = world.client()
    detail = Panel(client).wait_held(held)
    assert detail["run"]["reason"]["code"] == reason
    assert [d["id"] for d in detail["decisions"] if d["allowed"]] == ["stop"]
    assert (client.history(held) if client.context(held) else None) == history
    assert Panel(client).decide(detail, "stop").status == 200
    assert (client.history(held) if client.context(held) else None) == history
    assert world.effects() == ["start a"]


@pytest.mark.parametrize("way", ["live", "restart"])
def test_a_held_chat_that_nobody_touched_while_off_goes_on_after_the_decision(world, model, gate, way):
    script_effect(model, gate)
    world.start()
    held = hold_in_effect(world)
    client = world.client()
    client.toggle(False)
    if way == "restart":
        world.toggle_file(True)
        world.restart()
    else:
        client.toggle(True)
    panel = Panel(world.client())

    assert panel.decide(panel.wait_held(held), "confirmed_completed", "seen").status == 200

    assert ended(world, held) == "completed"
    assert world.effects() == ["start a"]
    assert world.client().wait_log(held, "response", "all done")


def test_a_chat_that_never_had_a_file_is_brought_back_by_the_decision(world, model):
    """Killed in its first step, and off at the next start: the host knows nothing of it until a person decides."""
    model.script(answer("late", gate="never"))
    model.script(raw("A name", gate="never"), kind="utility")  # the host saves a chat when it has found a name for it
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    model.wait_requests(1)
    world.kill()
    assert world.chat_file(chat) is None
    world.toggle_file(False)
    world.start()
    assert world.client().context(chat) is None
    model.script(answer("all done"))

    world.client().toggle(True)

    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert (detail["run"]["reason"]["code"], detail["run"]["chat_exists"]) == ("model_interrupted", False)
    assert panel.grant(detail).status == 200
    assert ended(world, chat) == "completed"
    assert [i["content"] for i in world.client().logs(chat) if i["type"] == "user"] == ["please"]


def test_off_by_hand_during_a_tool_that_loses_its_connection_the_call_stays_unknown(world, model, gate):
    """The file lies there for up to a minute before anybody notices: what ends meanwhile without proof is no result."""
    model.script(use("effect", arg="a", gate=str(gate), raises="connection"), answer("all done"), repeat=True)
    world.start()
    client = world.client()
    chat = client.create_chat()
    saying = Saying(world, chat, "please")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    world.toggle_file(False)
    gate.touch()
    saying.join(60)
    client.wait_idle(chat)
    client.toggle(True)

    assert Panel(client).wait_held(chat)
    assert [c["outcome"] for c in calls(world, chat) if c["kind"] == "tool"] == ["open"]
