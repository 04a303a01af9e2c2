"""Answers that break others: empty, as long as a book, no valid Unicode, the same as the one before."""

from __future__ import annotations

import uuid

from refhost.model import answer, use

ANSWERS = {
    "empty": "",
    "half a pair": "a \ud83d b",
    "nul": "a \0 b",
    "long": "x" * 100_000,
    "a number": "0",
    "nothing": "None",
}


def test_any_answer_ends_its_turn_once_and_is_the_recorded_one_after_a_kill(world, model):
    said = {}
    for kind, text in ANSWERS.items():
        again = f"again {kind}."
        model.script(use("effect", arg=kind, value=text), answer(text), when=f"please {kind}.")
        model.script(answer(text), when=again)
    world.start()
    client = world.client()
    for kind in ANSWERS:
        chat, ident = client.create_chat(), uuid.uuid4().hex
        said[kind] = (chat, ident, client.say(chat, f"please {kind}.", ident), client.say(chat, f"again {kind}."))
        assert said[kind][2] == said[kind][3], kind
        client.wait_idle(chat)
    requests = len(model.requests("chat"))

    world.restart()

    for kind, (chat, ident, first, _) in said.items():
        assert world.client().say(chat, f"please {kind}.", ident) == first, kind
    assert len(model.requests("chat")) == requests
    assert sorted(world.effects()) == sorted(f"{what} {kind}" for kind in ANSWERS for what in ("start", "end"))
