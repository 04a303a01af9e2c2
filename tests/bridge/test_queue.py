"""Queued messages: kept before they are acknowledged, sent once after any crash, under their own id."""

from __future__ import annotations

import pytest

from refhost.model import answer, use
from tests.support.story import Panel

FIRST, QUEUED, MORE = "please do it once", "the queued one", "and another"


@pytest.fixture
def chat(world, model, gate):
    """A chat whose effect waits for the gate, and whose queued messages get an answer each."""
    model.script(answer("to all of it"), when=MORE, repeat=True)
    model.script(answer("to the queued one", gate="answer"), when=QUEUED, repeat=True)
    model.script(answer("all done"), when="result-of-a", repeat=True)
    model.script(use("effect", arg="a", value="result-of-a", gate=str(gate)), when=FIRST, repeat=True)
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, FIRST)
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    return chat


def users(client, chat):
    return [item["content"] for item in client.logs(chat) if item["type"] == "user"]


def queued(client, chat):
    return [item["id"] for item in client.context(chat).get("message_queue", [])]


def test_a_queued_message_survives_a_kill_that_comes_at_once_and_is_sent_once(world, model, chat):
    ident = world.client().queue(chat, QUEUED)["item_id"]
    world.restart()
    client = world.client()
    panel = Panel(client)
    assert queued(client, chat) == [ident]

    model.release("answer")
    panel.decide(panel.wait_held(chat), "confirmed_completed", "looked", result_text="result-of-a")
    client.wait_log(chat, "response", "to the queued one")
    client.wait_idle(chat)

    assert users(client, chat) == [FIRST, QUEUED]
    assert str(model.requests("chat")[-1].messages).count(QUEUED) == 1
    assert queued(client, chat) == []
    assert [item["id"] for item in client.logs(chat) if item["content"] == QUEUED] == [ident]
    assert [run["state"] for run in panel.all_runs()] == ["completed", "completed"]


def test_a_queued_message_that_was_taken_in_is_not_sent_again(world, model, chat, gate):
    client = world.client()
    client.queue(chat, QUEUED)
    gate.touch()
    model.wait_requests(3)  # its turn has begun, and no step of it has ended

    world.restart()
    client = world.client()
    panel = Panel(client)
    assert queued(client, chat) == []
    model.release("answer")
    panel.grant(panel.wait_held(chat))
    client.wait_log(chat, "response", "to the queued one")
    client.wait_idle(chat)

    assert users(client, chat) == [FIRST, QUEUED]
    assert str(model.requests("chat")[-1].messages).count(QUEUED) == 1
    assert [run["state"] for run in panel.all_runs()] == ["completed", "completed"]


def test_several_that_were_sent_as_one_do_not_come_back(world, model, chat, gate):
    client = world.client()
    client.nudge(chat)
    panel = Panel(client)
    panel.decide(panel.wait_held(chat), "stop")
    client.wait_idle(chat)
    for text in (QUEUED, MORE):
        client.queue(chat, text)
    file = world.usr / "chats" / chat / "chat.json"
    before = file.read_text()

    assert client.call("message_queue_send", {"context": chat, "send_all": True})["sent_count"] == 2
    client.wait_log(chat, "response", "to all of it")
    client.wait_idle(chat)
    world.kill()
    file.write_text(before)  # as if the process had ended before the host wrote it

    client = world.start().client()
    assert queued(client, chat) == []
    assert len(users(client, chat)) == 2
    assert str(model.requests("chat")[-1].messages).count(MORE) == 1


def test_a_removed_item_stays_removed_after_a_kill(world, chat):
    client = world.client()
    kept, gone = (client.queue(chat, text)["item_id"] for text in (QUEUED, MORE))
    client.call("message_queue_remove", {"context": chat, "item_id": gone})

    world.restart()

    assert queued(world.client(), chat) == [kept]
