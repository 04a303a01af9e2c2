"""What the real host does without the plugin: the failure that the plugin exists to end."""

from __future__ import annotations

from .browser import Tab
from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say

HOST = "bare"


def test_plain_turn_answers_the_message(client: Client, model: ScriptedModel) -> None:
    chat = client.new_chat()
    model.script(say("Good morning."))

    answer = client.ask(chat, "Tell me the weather")

    assert answer == "Good morning."
    assert client.bubbles(chat, "user") == ["Tell me the weather"]
    assert client.bubbles(chat, "response") == ["Good morning."]
    assert [asked.count("Tell me the weather") for asked in model.main] == [1]


def test_shell_command_runs_once_and_its_result_reaches_the_model(client: Client, model: ScriptedModel, effect: Effect) -> None:
    chat = client.new_chat()
    model.script(effect.once(), say("Written."))

    client.ask(chat, "Write it")

    assert effect.lines == [effect.name]
    first, second = model.main
    assert first.count("tool_result") == 0
    assert second.count("tool_result") == 1


def test_nudge_after_a_kill_in_the_tool_runs_the_command_twice(
    host: LiveHost, client: Client, model: ScriptedModel, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write it")
    effect.wait_for("start")

    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    model.script(effect.gated(), say("Done."))
    client.nudge(chat)

    effect.wait_for("start", "end", "start", "end")
    client.wait_answer(chat, "Done.")


def test_second_message_to_a_running_tool_replaces_the_first(client: Client, model: ScriptedModel, effect: Effect) -> None:
    chat = client.new_chat()
    model.script(effect.gated(), say("Seen."))
    client.send(chat, "Write it")
    effect.wait_for("start")

    client.send(chat, "FIRST-ADDITION")
    client.send(chat, "SECOND-ADDITION")

    client.wait_answer(chat, "Seen.")
    assert [model.main[-1].count(text) for text in ("FIRST-ADDITION", "SECOND-ADDITION")] == [0, 1]


def test_kill_in_the_first_model_call_leaves_no_warning_and_no_answer(host: LiveHost, client: Client, model: ScriptedModel) -> None:
    chat = client.new_chat()
    answer = model.hold(say("Too late."))
    client.send(chat, "Tell me the weather")
    answer.wait_arrived()

    host.restart()

    known = client.chats()
    assert chat not in known or not known[chat]["running"]
    if chat in known:  # the host saves a chat when it is named, before or after the kill
        assert client.bubbles(chat, "warning") == []
        assert client.bubbles(chat, "response") == []
    assert len(model.main) == 1


def test_page_shows_a_turn_that_a_person_typed(client: Client, model: ScriptedModel, tab: Tab) -> None:
    chat = client.new_chat()
    model.script(say("Good evening."))

    tab.open(chat).send("Hello from the page")

    tab.see("Good evening.")
    tab.see_once("Hello from the page")
    assert tab.errors == []


def test_a_scheduled_task_that_was_cut_off_stays_running_for_ever(
    host: LiveHost, client: Client, model: ScriptedModel, effect: Effect
) -> None:
    body = {"name": "Daily", "system_prompt": "", "prompt": "Do the daily work", "token": "1", "timezone": "UTC"}
    task = client.post("scheduler_task_create", body).ok()["task"]["uuid"]
    model.script(effect.gated())
    client.post("scheduler_task_run", {"task_id": task, "timezone": "UTC"}).ok()
    effect.wait_for("start")

    host.restart()
    effect.let_go()

    (entry,) = [each for each in client.poll()["tasks"] if each["uuid"] == task]
    assert entry["state"] == "running"
    refused = client.post("scheduler_task_run", {"task_id": task, "timezone": "UTC"}).ok()
    assert "cannot be run" in refused["error"]
    assert len(model.main) == 1


def test_a_request_that_is_sent_again_with_its_key_is_a_second_turn(client: Client, model: ScriptedModel) -> None:
    key = client.post("settings_get", {}).ok()["settings"]["mcp_server_token"]
    model.script(say("One."), say("Two."))
    headers = {"X-API-KEY": key, "Idempotency-Key": "key-1"}

    replies = [client.post("api_message", {"message": "Do it"}, csrf=False, headers=headers).ok() for _ in range(2)]

    assert [reply["response"] for reply in replies] == ["One.", "Two."]
    assert replies[0]["context_id"] != replies[1]["context_id"]
