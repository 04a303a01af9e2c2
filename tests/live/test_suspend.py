"""A restart that announces itself, on the real host: SIGTERM, the host's own restart, the panel, the command line."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import Answer, ScriptedModel, say
from .recovery import NOTE, Recovery


@pytest.fixture
def speaking(client: Client, model: ScriptedModel) -> tuple[str, Answer]:
    """A chat whose model has begun to answer and does not end."""
    chat = client.new_chat()
    never = model.hold(say("Half an answer that nobody hears the end of."), after=12)
    client.send(chat, "Say something")
    never.wait_arrived()
    return chat, never


def suspend(client: Client, action: str = "suspend") -> Any:
    return client.plugin("suspend", {"action": action}).ok()


def wait_suspended(client: Client, recovery: Recovery) -> dict[str, Any]:
    def look() -> Any:
        found = recovery.status()["suspension"]
        return found if found and found["state"] == "suspended" else None

    return dict(client.wait("the suspension", look))


def goes_on(client: Client, recovery: Recovery, model: ScriptedModel, chat: str) -> None:
    recovery.wait_state(chat, "completed")
    client.wait_idle(chat)
    assert len(model.main) == 2
    assert recovery.waiting() == []
    assert client.bubbles(chat, "user") == ["Say something"]


def end(host: LiveHost, number: signal.Signals = signal.SIGTERM) -> None:
    assert host._process is not None
    host._process.send_signal(number)
    host.wait_dead(30)


def test_sigterm_with_a_model_stream_open(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, speaking: tuple[str, Answer]
) -> None:
    chat, never = speaking
    model.script(say("The whole answer."))

    end(host)
    never.release()
    host.start()

    goes_on(client, recovery, model, chat)


def test_sigterm_with_a_command_running_holds_it(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")

    end(host)
    effect.let_go()
    host.start()

    run = recovery.held(chat)
    assert run["run"]["reason"]["code"] == "outcome_unknown"
    assert effect.lines.count("start") == 1
    model.script(say("Done."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    recovery.wait_state(chat, "completed")
    assert effect.lines.count("start") == 1


def test_sigterm_lets_callers_of_the_api_go(host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    never = model.hold(say("Half an answer that nobody hears the end of."), after=12)
    key = client.post("settings_get", {}).ok()["settings"]["mcp_server_token"]
    heard: list[Any] = []

    def call() -> None:
        heard.append(client.post("api_message", {"message": "From outside"}, csrf=False, headers={"X-API-KEY": key}).body)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    never.wait_arrived()

    end(host)
    caller.join(20)

    assert heard[0]["suspended"] is True
    assert "suspended" in heard[0]["response"]
    never.release()
    model.script(say("The whole answer."))
    host.start()
    recovery.wait_state(heard[0]["context_id"], "completed")


def test_the_hosts_own_restart(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, speaking: tuple[str, Answer]
) -> None:
    chat, never = speaking
    model.script(say("The whole answer."))

    with contextlib.suppress(OSError, http.client.HTTPException):
        client.post("restart", {})
    host.wait_dead(30)
    never.release()
    host.start()

    goes_on(client, recovery, model, chat)


def test_suspended_in_the_panel_and_resumed(client: Client, model: ScriptedModel, recovery: Recovery, speaking: tuple[str, Answer]) -> None:
    chat, never = speaking
    model.script(say("The whole answer."))

    suspend(client)
    found = wait_suspended(client, recovery)

    assert found["safe"] is True
    assert recovery.run(chat)["run"]["state"] == "queued"
    never.release()
    assert suspend(client, "resume")["resumed"] == 1
    goes_on(client, recovery, model, chat)


def test_suspended_from_the_command_line(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, speaking: tuple[str, Answer]
) -> None:
    chat, never = speaking
    model.script(say("The whole answer."))

    asked = [sys.executable, "-m", "journal", "suspend"]
    done = subprocess.run(asked, cwd=host.plugin, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert "Safe to restart now" in done.stdout
    host.kill()
    never.release()
    host.start()
    goes_on(client, recovery, model, chat)


def decide_at_a_terminal(host: LiveHost, run_id: str, *words: str) -> str:
    """`decide` needs a person: a terminal on both ends."""
    master, slave = pty.openpty()
    asked = [sys.executable, "-m", "journal", "decide", run_id, *words]
    with subprocess.Popen(asked, cwd=host.plugin, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        os.write(master, b"yes\n")
        said = b""
        with contextlib.suppress(OSError):
            while part := os.read(master, 4096):
                said += part
        os.close(master)
        assert process.wait(30) == 0, said.decode()
    return said.decode()


def test_decided_at_a_terminal_while_no_server_runs(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    end(host)  # the command does not end in time: held
    effect.let_go()
    effect.wait_for("start", "end")
    looked = subprocess.run(
        [sys.executable, "-m", "journal", "runs", "--json"], cwd=host.plugin, capture_output=True, text=True, timeout=60, check=False
    )
    held = next(item for item in json.loads(looked.stdout)["items"] if item["chat_id"] == chat)

    said = decide_at_a_terminal(host, held["run_id"], "confirmed_completed", "--note=Looked at the file.", "--result=written")

    assert "goes on at the next start" in said
    model.script(say("Done."))
    host.start()
    recovery.wait_state(chat, "completed")
    assert recovery.waiting() == []
    assert effect.lines == ["start", "end"]
    assert "written" in model.main[-1].text


def test_stopped_in_the_chat_it_stays_usable_and_keeps_its_history(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    client.send(chat, "And a message that waits")

    stopped = client.plugin("recovery_stop", {"chat_id": chat, "request_id": "one"}).ok()

    assert stopped["run"]["state"] == "stopped"
    client.wait_idle(chat)
    effect.let_go()
    model.script(say("Still here."))
    assert client.ask(chat, "Are you there?") == "Still here."
    last = model.main[-1]
    assert (last.count("Write the file"), last.count("A person stopped this turn")) == (1, 1)
    assert last.count("And a message that waits") == 0
    kept = recovery.detail(stopped["run"]["run_id"])
    assert [message["state"] for message in kept["messages"]] == ["offered"]
    model.script(say("That too."))
    message = {"run_id": kept["run"]["run_id"], "version": kept["run"]["version"], "input_id": kept["messages"][0]["input_id"]}
    client.plugin("message_settle", {**message, "action": "send"}).ok()
    recovery.wait_state(chat, "completed")
    client.wait_idle(chat)
    assert model.main[-1].count("And a message that waits") == 1
    assert effect.lines.count("start") == 1
