"""What a person does to a chat while a call of it is open: the old coroutine neither writes nor starts anything after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from refhost.client import Client
from refhost.model import Model, answer, use, with_
from refhost.world import World
from tests.support.story import Panel

ACTIONS: dict[str, Callable[[Client, str], object]] = {
    "nudge": lambda client, chat: client.nudge(chat),
    "reset": lambda client, chat: client.reset(chat),
    "remove": lambda client, chat: client.remove(chat),
    "pause": lambda client, chat: client.pause(chat, True),
}
AFTER = {
    ("nudge", "tool"): "held",
    ("nudge", "model"): "completed",
    ("reset", "tool"): "stopped",
    ("reset", "model"): "stopped",
    ("remove", "tool"): "stopped",
    ("remove", "model"): "stopped",
    ("pause", "tool"): "running",
    ("pause", "model"): "running",
}


def open_call(world: World, model: Model, kind: str, name: str, gate: Path) -> str:
    """A chat with an open call; it ends when its gate is opened, and would be followed by more."""
    client = world.client()
    if kind == "tool":
        model.script(use("effect", arg=name, gate=str(gate)), use("effect", arg=f"{name}-again"), answer("all done"), when=name)
    else:
        model.script(with_(use("effect", arg=f"{name}-again"), gate=name, gate_at=10), answer("all done"), answer("all done"), when=name)
    chat = client.create_chat()
    client.send(chat, name)
    if kind == "tool":
        client.wait(lambda: f"start {name}" in world.effects(), what="the effect to start")
    else:
        client.wait(lambda: any(name in request.prompt for request in model.requests("chat")), what="the model to be asked")
    return chat


@pytest.mark.parametrize("kind", ["tool", "model"])
def test_after_a_person_acted_the_old_coroutine_does_nothing_more(world: World, model: Model, tmp_path: Path, kind: str) -> None:
    world.start()
    client, panel = world.client(), Panel(world.client())
    chats = {}
    for action, act in ACTIONS.items():
        name = f"{action}-{kind}"
        chats[action] = open_call(world, model, kind, name, tmp_path / name)
        act(client, chats[action])

    def states() -> dict[str, str]:
        runs = panel.all_runs()
        return {action: next(run["state"] for run in runs if run["chat_id"] == chat) for action, chat in chats.items()}

    expected = {action: AFTER[action, kind] for action in ACTIONS}
    client.wait(lambda: states() == expected, what=f"{expected}, not {states()}")
    for action in ACTIONS:  # what was in the middle comes to its end now, with nobody to hear it
        (tmp_path / f"{action}-{kind}").touch()
        model.release(f"{action}-{kind}")
    client.pause(chats["pause"], False)

    client.wait(lambda: states()["pause"] == "completed", what="the paused run to go on")
    assert states() == {**expected, "pause": "completed"}
    begun = [line.removeprefix("start ") for line in world.effects() if line.startswith("start ")]
    assert [name for name in begun if name.endswith("-again")] == [f"pause-{kind}-again"]
    assert len(begun) == len(set(begun))
    assert model.unscripted() == []
