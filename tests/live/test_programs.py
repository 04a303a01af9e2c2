"""Other programs: the external API with a key of its own, the MCP server and the A2A server."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from .client import WAIT, Client, Reply
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery

SERVERS = {"A0_SET_mcp_server_enabled": "true", "A0_SET_a2a_server_enabled": "true"}
WORK = "Write the file for me"


@pytest.fixture
def token(host: LiveHost, client: Client) -> str:
    if not client.post("settings_get", {}).ok()["settings"]["a2a_server_enabled"]:
        host.restart(env=SERVERS)
    return str(client.post("settings_get", {}).ok()["settings"]["mcp_server_token"])


@contextlib.contextmanager
def waiting_program(ask: Any) -> Iterator[list[Any]]:
    """A program that waits for an answer meanwhile; what it got stands in the list."""
    got: list[Any] = []

    def run() -> None:
        try:
            got.append(ask())
        except (OSError, ValueError) as error:
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield got
    thread.join(WAIT)


def rpc(host: LiveHost, path: str, body: dict[str, Any]) -> Any:
    data = json.dumps({"jsonrpc": "2.0", **body}).encode()
    request = urllib.request.Request(f"{host.url}/{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WAIT) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith("{") else None


def send_by_mcp(host: LiveHost, token: str, message: str) -> str:
    """One call over the server's event stream: answers come in the stream that a first request opens."""
    with urllib.request.urlopen(f"{host.url}/mcp/t-{token}/sse", timeout=WAIT) as stream:

        def told() -> str:
            for line in stream:
                if line.startswith(b"data:"):
                    return str(line[5:].decode().strip())
            raise ValueError("the stream ended")

        path = told().lstrip("/")
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        rpc(host, path, {"id": 1, "method": "initialize", "params": hello})
        told()
        rpc(host, path, {"method": "notifications/initialized"})
        call = {"name": "send_message", "arguments": {"message": message}}
        rpc(host, path, {"id": 2, "method": "tools/call", "params": call})
        return told()


def send_by_a2a(host: LiveHost, client: Client, token: str, message: str) -> str:
    path = f"a2a/t-{token}/"
    said = {"role": "user", "parts": [{"kind": "text", "text": message}], "kind": "message", "messageId": "m-1"}
    params = {"message": said, "configuration": {"acceptedOutputModes": ["text"]}}
    answer = rpc(host, path, {"id": "1", "method": "message/send", "params": params})
    task = answer["result"]["id"]

    def look() -> str:
        found = rpc(host, path, {"id": "2", "method": "tasks/get", "params": {"id": task}})
        return json.dumps(found) if found["result"]["status"]["state"] in ("completed", "failed") else ""

    return str(client.wait("the end of the A2A task", look))


def newest(recovery: Recovery) -> dict[str, Any]:
    return dict(recovery.client.plugin("recovery_list", {"tab": "all"}).ok()["items"][0])


def ask_api(client: Client, token: str, key: str, message: str = WORK, **more: Any) -> Reply:
    return client.post("api_message", {"message": message, **more}, csrf=False, headers={"X-API-KEY": token, "Idempotency-Key": key})


def test_a_request_that_is_sent_again_after_a_kill_gets_the_answer_of_the_one_turn(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, token: str
) -> None:
    model.script(effect.gated())
    with waiting_program(lambda: ask_api(client, token, "key-1")):
        effect.wait_for("start")
        host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start(env=SERVERS)
    held = recovery.held(newest(recovery)["chat_id"])
    model.script(say("Written for you."))
    recovery.decide(held, "confirmed_completed", note=NOTE).ok()

    again = ask_api(client, token, "key-1")
    once_more = ask_api(client, token, "key-1")

    assert again.ok() == once_more.ok() == {"context_id": held["run"]["chat_id"], "response": "Written for you."}
    assert effect.lines == ["start", "end"]
    assert client.bubbles(held["run"]["chat_id"], "user") == [WORK]
    other = ask_api(client, token, "key-1", "Something else")
    assert (other.status, "refused" in other.body["error"]) == (409, True)
    assert ask_api(client, token, "key-1", "Something else", context_id=held["run"]["chat_id"]).status == 409


def test_a_turn_of_the_mcp_server_is_recorded_and_asked_about_when_its_caller_is_gone(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, token: str
) -> None:
    model.script(say("For an MCP client."))
    assert "For an MCP client." in send_by_mcp(host, token, "Hello by MCP")
    assert newest(recovery)["state"] == "completed"

    model.script(effect.gated())
    with waiting_program(lambda: send_by_mcp(host, token, WORK)):
        effect.wait_for("start")
        host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start(env=SERVERS)
    held = recovery.held(newest(recovery)["chat_id"])
    assert "does not wait for the answer" in held["run"]["reason"]["text"]
    model.script(say("ANSWER-NOBODY-FETCHED"))
    recovery.decide(held, "confirmed_completed", note=NOTE).ok()
    recovery.wait_state(held["run"]["chat_id"], "completed")

    assert "ANSWER-NOBODY-FETCHED" in str(recovery.run(held["run"]["chat_id"])["calls"][-1])
    assert effect.lines == ["start", "end"]
    assert model.main[-1].count(WORK) == 1


def test_a_turn_of_the_a2a_server_is_recorded_and_goes_on_only_if_a_person_says_so(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, token: str
) -> None:
    model.script(say("For an A2A client."))
    assert "For an A2A client." in send_by_a2a(host, client, token, "Hello by A2A")
    assert newest(recovery)["state"] == "completed"

    held_answer = model.hold(say("Never heard."))
    with waiting_program(lambda: send_by_a2a(host, client, token, "Hello again by A2A")):
        held_answer.wait_arrived()
        host.kill()
    host.start(env=SERVERS)
    held = recovery.held(newest(recovery)["chat_id"])
    assert held["run"]["reason"]["code"] == "model_interrupted"
    assert "does not wait for the answer" in held["run"]["reason"]["text"]

    recovery.decide(held, "stop").ok()
    assert newest(recovery)["state"] == "stopped"
