"""The modes on the real host: what a restart makes of a turn that began under each of them."""

from __future__ import annotations

from typing import Any

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery

REPORT = "It may have happened and may still be running"


@pytest.fixture
def configure(client: Client) -> Any:
    """Save modes as the configuration screen does: for a project, or for all."""

    def save(project: str = "", **mode: str) -> None:
        body = {"action": "save_config", "plugin_name": "durable_execution", "project_name": project, "agent_profile": "", "settings": mode}
        client.post("plugins", body).ok()

    return save


def cut_off(host: LiveHost, client: Client, model: ScriptedModel, effect: Effect, chat: str = "") -> str:
    """A chat whose server was killed inside a command, which then finished; the server is up again."""
    chat = chat or client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    return chat


def test_ask_mode_asks_once_and_goes_on_after_the_decision(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, configure: Any
) -> None:
    configure(on_restart="ask")
    chat = cut_off(host, client, model, effect)
    run = recovery.held(chat)
    assert run["run"]["reason"]["code"] == "ask"

    model.script(say("Finished."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()

    client.wait_answer(chat, "Finished.")
    recovery.wait_state(chat, "completed")
    assert effect.lines == ["start", "end"]
    assert len(model.main) == 2


def test_report_mode_tells_the_model_and_needs_nobody(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, configure: Any
) -> None:
    configure(on_restart="auto", interrupted_tool_call="report")
    model.default = lambda asked: say("Checked.") if asked.count(REPORT) else say("NOT TOLD")
    chat = cut_off(host, client, model, effect)

    client.wait_answer(chat, "Checked.")
    recovery.wait_state(chat, "completed")
    assert model.main[-1].count(REPORT) == 1
    assert effect.lines == ["start", "end"]


def test_the_mode_of_a_project_is_that_of_its_chats_alone(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, configure: Any
) -> None:
    configure(on_restart="auto", interrupted_tool_call="hold")
    project = {"name": "careless", "title": "Careless", "description": "", "instructions": "", "color": "", "git_url": ""}
    client.post("projects", {"action": "create", "project": project}).ok()
    configure(project="careless", on_restart="off")
    chat = client.new_chat()
    client.post("projects", {"action": "activate", "context_id": chat, "name": "careless"}).ok()
    cut_off(host, client, model, effect, chat)

    recovery.wait_state(chat, "stopped")
    model.script(say("I see."))
    assert client.ask(chat, "And now?") == "I see."
    assert model.main[-1].count("is not continued") == 1
    assert model.main[-1].count("Write the file") >= 1
    assert effect.lines == ["start", "end"]
