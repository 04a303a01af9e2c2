"""A journal that cannot be written: the step waits, says why, and goes on; nothing is lost or doubled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import Recovery


@contextmanager
def locked(host: LiveHost) -> Iterator[None]:
    """Hold the write lock of the journal, as a foreign program would."""
    other = sqlite3.connect(f"{host.journal.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=30)
    try:
        other.execute("begin immediate")
        yield
        other.execute("rollback")
    finally:
        other.close()


def test_a_result_that_cannot_be_written_parks_the_step(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated(), say("Written after all."))
    client.send(chat, "Write the file")
    effect.wait_for("start")

    with locked(host):
        effect.let_go()
        effect.wait_for("start", "end")
        client.wait("the reason in the chat", lambda: client.bubbles(chat, "warning"))
        assert len(model.main) == 1
        assert client.chats()[chat]["running"]

    client.wait_answer(chat, "Written after all.")
    assert effect.lines == ["start", "end"]
    assert len(model.main) == 2
    assert model.main[-1].count("tool_result") == 1
    assert client.bubbles(chat, "error") == []
    assert recovery.run(chat)["run"]["state"] == "completed"


def test_a_message_that_cannot_be_recorded_is_refused_and_can_be_sent_again(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat = client.new_chat()
    with locked(host):
        answer = client.ask(chat, "Take this in", "the-same-id")
    assert "not taken in" in answer
    assert len(model.main) == 0

    model.script(say("Taken in."))
    client.wait("the journal", lambda: recovery.status()["active"])

    assert client.ask(chat, "Take this in, please", "another-id") == "Taken in."
    assert recovery.run(chat)["run"]["state"] == "completed"


def test_a_kill_while_a_result_waits_leaves_it_unknown(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    with locked(host):
        effect.let_go()
        effect.wait_for("start", "end")
        client.wait("the reason in the chat", lambda: client.bubbles(chat, "warning"))
        host.kill()

    host.start()
    run = recovery.held(chat)

    assert run["run"]["reason"]["code"] == "outcome_unknown"
    assert effect.lines == ["start", "end"]
    recovery.decide(run, "stop").ok()
