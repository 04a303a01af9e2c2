"""Switched off for one project, while a run of it is under way: no step of it passes unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refhost.client import Client
from refhost.model import Model, answer, use, with_
from refhost.world import PLUGIN, World
from tests.support.scenes import ended, script_effect
from tests.support.story import Panel

PROJECT = "careless"


def switch(client: Client, enabled: bool) -> Any:
    body = {"action": "toggle_plugin", "plugin_name": PLUGIN, "enabled": enabled, "project_name": PROJECT}
    return client.call("plugins", body)


def by_hand(world: World, *, off: bool) -> None:
    """The file that the switch would lay, and the host made to look."""
    file = world.usr / "projects" / PROJECT / ".a0proj" / "plugins" / PLUGIN / ".toggle-0"
    file.parent.mkdir(parents=True, exist_ok=True)
    if off:
        file.touch()
    else:
        file.unlink()
    if world.alive:
        world.client().call("cache_reset")


def begin(world: World) -> str:
    client = world.client()
    chat = client.create_chat()
    client.activate_project(chat, PROJECT)
    client.send(chat, "please")
    return chat


def test_the_switch_refuses_while_a_run_of_the_project_is_at_work(world: World, model: Model, gate: Path) -> None:
    script_effect(model, gate)
    world.start()
    client = world.client()
    chat = begin(world)
    client.wait(lambda: world.effects(), what="the effect to start")

    refused = switch(client, False)

    assert refused["ok"] is False
    assert "stays on" in refused["error"]
    gate.touch()
    assert ended(world, chat) == "completed"
    client.wait_idle(chat)
    assert switch(client, False)["ok"] is True
    client.say(chat, "please")
    assert len([run for run in Panel(client).all_runs() if run["chat_id"] == chat]) == 1


def test_by_hand_in_the_middle_of_a_tool_the_next_model_call_is_held(world: World, model: Model, gate: Path) -> None:
    script_effect(model, gate)
    world.start()
    client, panel = world.client(), Panel(world.client())
    chat = begin(world)
    client.wait(lambda: world.effects(), what="the effect to start")

    by_hand(world, off=True)
    gate.touch()

    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "unrecorded_step"
    assert "switched off" in detail["run"]["reason"]["text"]
    assert len(model.requests("chat")) == 1
    assert panel.decide(detail, "new_attempt").status == 200  # still off: nothing is started
    assert panel.wait_held(chat)["run"]["reason"]["code"] == "unrecorded_step"
    assert len(model.requests("chat")) == 1
    by_hand(world, off=False)
    assert panel.decide(panel.wait_held(chat), "new_attempt").status == 200
    assert ended(world, chat) == "completed"


def test_by_hand_in_the_middle_of_an_answer_the_tool_that_it_asks_for_is_not_started(world: World, model: Model) -> None:
    model.script(with_(use("effect", arg="a"), gate="half", gate_at=10), when="please")
    world.start()
    chat = begin(world)
    model.wait_requests(1)

    by_hand(world, off=True)
    model.release("half")

    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "unrecorded_step"
    assert world.effects() == []
    by_hand(world, off=False)
    model.script(answer("all done"))
    assert panel.decide(detail, "new_attempt").status == 200
    assert ended(world, chat) == "completed"


def test_after_a_restart_a_run_whose_project_is_switched_off_is_not_set_going(world: World, model: Model) -> None:
    model.script(with_(answer("never"), gate="never"), answer("all done"))
    world.start()
    chat = begin(world)
    model.wait_requests(1)
    world.kill()
    by_hand(world, off=True)

    world.start()
    panel = Panel(world.client())
    panel.grant(panel.wait_held(chat))
    world.client().wait(lambda: panel.wait_held(chat)["run"]["reason"]["code"] == "unrecorded_step", what="the hold")

    assert len(model.requests("chat")) == 1
    by_hand(world, off=False)
    assert panel.decide(panel.wait_held(chat), "new_attempt").status == 200
    assert ended(world, chat) == "completed"
