"""Stories that bring a world into a state worth looking at. No model thinks here; effects are lines in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from refhost.model import Model, answer, use, with_
from refhost.world import World

GREETING = "This host has a scripted model. It says only what its scenario tells it."
Scenario = Callable[[World, Model], None]


def plain(world: World, model: Model) -> None:
    """One chat whose turn has ended: a command, then an answer."""
    text = "Count the files, please."
    model.script(use("code_execution_tool", runtime="terminal", code="ls | wc -l"), answer("Counted."), when=text)
    client = world.start().client()
    client.say(client.create_chat(), text)


def held(world: World, model: Model) -> None:
    """The server was killed in the middle of a command: nobody knows how the command ended."""
    _killed_in_a_command(world, model, ["Publish release 1.4, please."])


def two_held(world: World, model: Model) -> None:
    """The same in two chats at once."""
    _killed_in_a_command(world, model, ["Publish release 1.4, please.", "Send the weekly report."])


def model_held(world: World, model: Model) -> None:
    """The server was killed while the model was speaking."""
    text = "Write the summary."
    broken = with_(answer("Half a summary, and the other half."), gate="never", gate_at=40)
    model.script(broken, answer("The whole summary."), when=text)
    client = world.start().client()
    client.send(client.create_chat(), text)
    model.wait_requests(1)
    world.restart()


def _killed_in_a_command(world: World, model: Model, texts: list[str]) -> None:
    gates = [world.folder / f"gate-{number}" for number, _ in enumerate(texts)]
    for text, gate in zip(texts, gates, strict=True):
        model.script(use("code_execution_tool", runtime="terminal", code=_command(gate)), answer("It is done."), when=text)
    client = world.start().client()
    for text in texts:
        client.send(client.create_chat(), text)
    client.wait(lambda: len(world.effects()) == len(texts), what="the commands' effects")
    world.kill()
    for gate in gates:
        gate.touch()  # the commands end by themselves, with nobody to record it
    world.start()


def _command(gate: Path) -> str:
    """Has its effect at once, then goes on until the gate is there."""
    return f'echo "published $$" >> "$EFFECTS"; until [ -e "{gate}" ]; do sleep 0.05; done'


def named() -> Iterator[tuple[str, Scenario]]:
    for scenario in (held, two_held, model_held, plain):
        yield scenario.__name__, scenario
