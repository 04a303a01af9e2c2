"""Turns and steps of other kinds: a queued message, a file, another program."""

from __future__ import annotations

from collections.abc import Callable

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery


def killed_in(host: LiveHost, *effects: Effect) -> None:
    """Kill the server while these commands run, let them finish, start again."""
    for effect in effects:
        effect.wait_for("start")
    host.kill()
    for effect in effects:
        effect.let_go()
        effect.wait_for("start", "end")
    host.start()


def test_a_message_queued_before_a_kill_is_sent_once_after_the_decision(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, make_effect: Callable[[str], Effect]
) -> None:
    first = make_effect("first")
    chat = client.new_chat()
    model.script(first.gated(), effect.gated())
    client.send(chat, "Write the files")
    first.wait_for("start")
    client.post("message_queue_add", {"context": chat, "text": "QUEUED-MESSAGE"}).ok()
    first.let_go()  # the host saves its queue with the chat, at the end of a step

    killed_in(host, effect)
    model.script(say("Written."), say("And the queued one."))
    recovery.decide(recovery.held(chat), "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "And the queued one.")

    assert model.main[-1].count("QUEUED-MESSAGE") == 1
    assert client.bubbles(chat, "user") == ["Write the files", "QUEUED-MESSAGE"]
    assert [run["state"] for run in recovery.runs(chat)] == ["completed", "completed"]


def test_a_message_queued_a_moment_before_a_kill_is_sent_once_under_its_own_id(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    item = client.post("message_queue_add", {"context": chat, "text": "QUEUED-MESSAGE"}).ok()["item_id"]
    killed_in(host, effect)  # no step of the turn has ended: the host itself has saved nothing

    assert [waiting["id"] for waiting in client.chats()[chat]["message_queue"]] == [item]
    model.script(say("Written."), say("And the queued one."))
    recovery.decide(recovery.held(chat), "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "And the queued one.")

    assert model.main[-1].count("QUEUED-MESSAGE") == 1
    assert [bubble["id"] for bubble in client.log(chat, "user") if bubble["content"] == "QUEUED-MESSAGE"] == [item]
    assert [run["state"] for run in recovery.runs(chat)] == ["completed", "completed"]


def test_another_program_gets_the_answer_of_a_recorded_turn(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    key = client.post("settings_get", {}).ok()["settings"]["mcp_server_token"]
    model.script(say("For a program."))

    reply = client.post("api_message", {"message": "From a program"}, headers={"X-API-KEY": key}).ok()

    assert reply["response"] == "For a program."
    assert [run["state"] for run in recovery.runs(reply["context_id"])] == ["completed"]


def test_a_file_of_a_message_survives_a_kill(host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    held = model.hold(say("Never heard."))
    client.upload(chat, "Read this file", "notes.txt", b"some notes")
    held.wait_arrived()

    host.restart()
    model.script(say("Read."))
    recovery.grant(recovery.held(chat)).ok()
    client.wait_answer(chat, "Read.")

    assert model.main[-1].count("notes.txt") == model.main[0].count("notes.txt") > 0
    bubble = client.log(chat, "user")[0]
    assert bubble["content"] == "Read this file"
    assert bubble["kvps"]["attachments"] == ["notes.txt"]
