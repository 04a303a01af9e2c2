"""kill -9 at twenty instants that nobody chose: the turn ends as if the person had only waited."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import Asked, ScriptedModel, say
from .recovery import Recovery

LONGEST_TURN = 7.0  # seconds; a turn with two commands takes about six


@pytest.mark.parametrize("number", range(20))
def test_kill_at_a_random_instant(
    host: LiveHost,
    client: Client,
    model: ScriptedModel,
    recovery: Recovery,
    make_effect: Callable[[str], Effect],
    number: int,
) -> None:
    effects = [make_effect("one"), make_effect("two")]
    answers = [effects[0].once(), effects[1].once(), say("Both written.")]

    def answer(asked: Asked) -> str:
        return answers[asked.count("tool_result")]

    model.default = answer
    chat, ident = client.new_chat(), str(uuid.uuid4())
    client.send(chat, "Write both lines", ident)
    died = threading.Event()
    threading.Timer(random.Random(number).uniform(0.0, LONGEST_TURN), lambda: (host.kill(), died.set())).start()
    assert died.wait(60)

    host.start()
    written = {effect.name: effect.lines for effect in effects}
    run = recovery.settle(chat, happened=lambda call: happened(call, written))

    assert run["run"]["state"] == "completed"
    client.wait_answer(chat, "Both written.")
    assert [effect.lines for effect in effects] == [["one"], ["two"]]
    assert client.bubbles(chat, "user") == ["Write both lines"]
    assert client.bubbles(chat, "response") == ["Both written."]
    assert len(client.log(chat, "code_exe")) == 2
    last = model.main[-1]
    assert (last.count("Write both lines"), last.count("tool_result")) == (1, 2)
    repeated = client.ask(chat, "Write both lines", ident)
    assert repeated == "Both written."


def happened(call: dict[str, object], written: dict[str, list[str]]) -> bool:
    """What a person reads in the effects' files about the command that is in question."""
    command = str(call["arguments_masked"])
    return any(lines and f"echo {name} " in command for name, lines in written.items())
