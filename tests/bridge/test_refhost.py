"""The reference host alone, without the plugin: a turn, what interrupts one, what survives, what a plugin can hook."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from refhost.client import Answer, Client
from refhost.model import Model, answer, error, prose, raw, use, with_
from refhost.world import World

MARK = """
from pathlib import Path
from helpers.extension import Extension

class Mark(Extension):
    def execute(self, **kwargs):
        with Path({path!r}).open("a") as file:
            file.write({text} + "\\n")
"""


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    with Model.start(tmp_path / "model") as model:
        yield model


@pytest.fixture
def world(tmp_path: Path, model: Model) -> Iterator[World]:
    with World(tmp_path / "world", model=model, plugin=None) as world:
        yield world


def types(client: Client, chat: str) -> list[str]:
    return [item["type"] for item in client.logs(chat)]


def test_a_turn_with_one_tool_and_a_final_answer(world: World, model: Model) -> None:
    model.script(use("effect", arg="a", value="made"), answer("done", reasoning="let me think"))
    client = world.start().client()
    chat = client.create_chat()

    assert client.say(chat, "please", message_id="m1") == "done"

    assert world.effects() == ["start a", "end a"]
    assert types(client, chat) == ["response", "user", "agent", "tool", "agent", "response"]
    logs = client.logs(chat)
    assert [logs[1]["id"], logs[5]["content"], logs[4]["kvps"]["reasoning"]] == ["m1", "done", "let me think"]
    first, second = model.requests("chat")
    assert first.messages[-1]["role"] == "user"
    assert '"user_message": "please"' in first.prompt
    assert '"tool_result": "made"' in second.prompt
    assert model.unscripted() == []


def test_a_chat_has_no_file_before_its_first_step_ended(world: World, model: Model) -> None:
    gate = world.folder / "gate"
    model.script(with_(raw("A name"), gate="naming"), kind="utility", when="go")
    model.script(use("effect", arg="a", gate=str(gate)), answer("done"))
    client = world.start().client()
    chat = client.create_chat()

    client.send(chat, "go")
    client.wait(lambda: world.effects() == ["start a"])

    assert world.chat_file(chat) is None
    gate.touch()
    client.wait_idle(chat)
    saved = world.chat_file(chat)
    assert saved is not None
    assert '"tool_result": "effect a done"' in saved["agents"][0]["history"]
    assert saved["name"] is None
    model.release("naming")
    client.wait(lambda: (world.chat_file(chat) or {})["name"] == "A name")


def test_a_chat_comes_back_from_its_file_after_a_kill(world: World, model: Model) -> None:
    model.script(answer("one"), answer("two"))
    client = world.start().client()
    chat = client.create_chat()
    client.say(chat, "first")
    before = client.history(chat)
    logs = client.logs(chat)

    world.restart()

    assert client.history(chat) == before
    assert client.logs(chat) == logs
    assert client.say(chat, "second") == "two"
    assert client.history(chat).startswith(before)


def test_a_message_to_a_running_turn_reaches_the_model_once(world: World, model: Model) -> None:
    model.script(use("effect", arg="a", seconds=60, poll=True, progress="half way"), answer("as you say"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "go")
    client.wait(lambda: world.effects() == ["start a"])

    assert client.say(chat, "stop that", message_id="m2") == "as you say"

    assert world.effects() == ["start a"]
    history = client.history(chat)
    assert history.count('"user_intervention": "stop that"') == 1
    assert history.index("half way") < history.index("stop that")
    assert [item["content"] for item in client.logs(chat) if item["type"] == "user"] == ["go", "stop that"]


def test_a_second_message_overwrites_the_first_in_the_slot(world: World, model: Model) -> None:
    gate = world.folder / "gate"
    model.script(use("effect", arg="a", gate=str(gate)), answer("done"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "go")
    client.wait(lambda: world.effects() == ["start a"])
    client.send(chat, "one")
    client.send(chat, "two")

    gate.touch()
    client.wait_idle(chat)

    assert "two" in client.history(chat)
    assert '"user_intervention": "one"' not in client.history(chat)
    assert "effect a done" not in client.history(chat)  # the finished result is thrown away


def test_a_nudge_kills_the_turn_and_asks_again(world: World, model: Model) -> None:
    model.script(use("effect", arg="a", seconds=60), answer("nudged"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "go")
    client.wait(lambda: world.effects() == ["start a"])

    client.nudge(chat)

    client.wait_log(chat, "response", "nudged")
    client.wait_log(chat, "info", "agent nudged")
    assert world.effects() == ["start a"]
    history = client.history(chat)
    assert history.index('"tool_name": "effect"') < history.index("Nudged")  # a call without its result
    assert "tool_result" not in history


def test_a_shell_command_outlives_the_killed_server(world: World, model: Model) -> None:
    gate = world.folder / "gate"
    code = f'echo "start s $$" >> $EFFECTS; while [ ! -e {gate} ]; do sleep 0.02; done; echo "end s $$" >> $EFFECTS'
    model.script(use("code_execution_tool", runtime="terminal", code=code))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "go")
    client.wait(lambda: world.effects() == ["start s"])

    world.kill()
    gate.touch()

    client.wait(lambda: world.effects() == ["start s", "end s"])
    assert world.effect_pids()[0] != world.pid


def test_a_paused_chat_waits_at_the_next_step(world: World, model: Model) -> None:
    gate = world.folder / "gate"
    model.script(use("effect", arg="a", gate=str(gate)), answer("done"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "go")
    client.wait(lambda: world.effects() == ["start a"])
    client.pause(chat, True)

    gate.touch()
    client.wait(lambda: world.effects() == ["start a", "end a"])

    assert client.running(chat)
    assert len(model.requests("chat")) == 1
    client.pause(chat, False)
    client.wait_idle(chat)
    assert client.logs(chat)[-1]["content"] == "done"


def test_a_queued_message_is_sent_when_the_turn_has_ended(world: World, model: Model) -> None:
    gate = world.folder / "gate"
    model.script(use("effect", arg="a", gate=str(gate)), answer("one"), answer("two"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "go")
    client.wait(lambda: world.effects() == ["start a"])
    client.queue(chat, "and then")

    gate.touch()

    client.wait_log(chat, "response", "two")
    assert [item["content"] for item in client.logs(chat) if item["type"] == "user"] == ["go", "and then"]


@pytest.mark.parametrize(
    ("raises", "requests", "ending"),
    [("value", 2, "done"), ("repairable", 2, "done"), ("handled", 1, None)],
)
def test_errors_of_a_tool(world: World, model: Model, raises: str, requests: int, ending: str | None) -> None:
    model.script(use("effect", arg="a", raises=raises), answer("done"))
    client = world.start().client()
    chat = client.create_chat()

    client.send(chat, "go")
    client.wait_idle(chat)

    assert len(model.requests("chat")) == requests
    answers = [item["content"] for item in client.logs(chat) if item["type"] == "response"]
    assert answers[1:] == ([ending] if ending else [])
    assert world.effects() == ["start a", "end a"]


def test_a_provider_error_is_tried_again_inside_one_call(world: World, model: Model) -> None:
    model.script(error(503), with_(answer("never"), cut=0), answer("done"))
    client = world.start().client()

    assert client.say(client.create_chat(), "go") == "done"

    assert len(model.requests("chat")) == 3


def test_prose_ends_a_turn_and_a_fenced_call_is_told_off(world: World, model: Model) -> None:
    model.script(raw('```json\n{"tool_name": "effect", "tool_args": {}}\n```'), prose("just words"))
    client = world.start().client()
    chat = client.create_chat()

    assert client.say(chat, "go") == "just words"

    assert types(client, chat) == ["response", "user", "agent", "warning", "agent"]
    assert world.effects() == []


def test_a_secret_reaches_the_tool_and_nothing_else(tmp_path: Path, model: Model) -> None:
    with World(tmp_path / "world", model=model, plugin=None, secrets={"PIN": "tiger-4711"}) as world:
        model.script(use("effect", arg="§§secret(PIN)", value="it is §§secret(PIN)"), answer("done"))
        client = world.start().client()
        chat = client.create_chat()
        client.say(chat, "go")

        assert world.effects() == ["start tiger-4711", "end tiger-4711"]
        assert "§§secret(PIN)" in client.history(chat)
        seen = json.dumps([client.logs(chat), [request.body for request in model.requests()]])
        assert "tiger" not in seen + client.history(chat) + json.dumps(world.chat_file(chat))


def test_a_subordinate_answers_its_superior(world: World, model: Model) -> None:
    model.script(answer("below done"), when='"user_message": "dig"')
    model.script(use("call_subordinate", message="dig"), answer("above done"))
    client = world.start().client()
    chat = client.create_chat()

    assert client.say(chat, "go") == "above done"

    assert '"tool_result": "below done"' in client.history(chat)
    saved = world.chat_file(chat)
    assert saved is not None
    assert [agent["number"] for agent in saved["agents"]] == [0, 1]


def test_a_task_runs_without_the_points_of_a_chats_own_task(world: World, model: Model) -> None:
    marks = world.folder / "marks"
    model.script(answer("task done"))
    world.add_plugin(
        "watcher",
        {
            f"extensions/python/{point}/_50_watcher.py": MARK.format(path=str(marks), text=repr(point))
            for point in ("monologue_start", "message_loop_start", "message_loop_end", "monologue_end", "process_chain_end")
        },
    )
    client = world.start().client()

    task = client.call("scheduler_task_create", {"name": "t", "prompt": "work"})["task_id"]
    client.call("scheduler_task_run", {"task_id": task})
    client.wait(lambda: (client.context(task) or {}).get("last_result"))

    assert client.poll()["tasks"][0]["last_result"] == "task done"
    assert marks.read_text().split() == ["monologue_start", "message_loop_start"]


def test_a_plugins_hooks_follow_its_switch(world: World, model: Model) -> None:
    marks = world.folder / "marks"
    mark = MARK.format(path=str(marks), text="sorted(kwargs['data'])[0] + ' ' + str(kwargs['data']['args'][1].message)")
    switch = MARK.format(path=str(marks), text="'switch ' + str(kwargs['data']['args'][1])")
    world.add_plugin(
        "watcher",
        {
            "extensions/python/_functions/agent/AgentContext/communicate/start/_50_watcher.py": mark,
            "extensions/python/_functions/helpers/plugins/toggle_plugin/start/_50_watcher.py": switch,
            "extensions/python/_functions/helpers/plugins/toggle_plugin/end/_50_watcher.py": switch,
        },
    )
    model.script(answer("x"), repeat=True)
    client = world.start().client()
    chat = client.create_chat()

    client.say(chat, "one")
    client.toggle(False, "watcher")
    client.say(chat, "two")
    client.toggle(True, "watcher")
    client.say(chat, "three")

    assert marks.read_text().splitlines() == ["args one", "switch False", "switch True", "args three"]


def test_a_hook_can_serve_refuse_and_replace(world: World, model: Model) -> None:
    serve = """
from helpers.extension import Extension
from helpers.errors import HandledException

class Serve(Extension):
    async def execute(self, data=None, **kwargs):
        text = str(data["kwargs"]["messages"][-1].content)
        if "serve me" in text:
            from helpers.llm_result import LLMResult
            spoken = '{"tool_name": "response", "tool_args": {"text": "served"}}'
            await data["kwargs"]["response_callback"](spoken, spoken)
            data["result"] = LLMResult.from_chat(response=spoken)
        if "refuse me" in text:
            data["exception"] = HandledException("no")
"""
    point = "extensions/python/_functions/models/LiteLLMChatWrapper/unified_turn/start/_50_server.py"
    world.add_plugin("server", {point: serve})
    model.script(answer("live"))
    client = world.start().client()
    chat = client.create_chat()

    assert client.say(chat, "serve me") == "served"
    assert types(client, chat)[-1] == "response"
    with pytest.raises(Answer) as refused:
        client.say(chat, "refuse me")
    assert refused.value.reply.status == 500
    assert client.say(client.create_chat(), "live please") == "live"
    assert len(model.requests("chat")) == 1


def test_native_calls_run_one_after_the_other(world: World, model: Model) -> None:
    serve = """
from helpers.extension import Extension
from helpers.llm_result import LLMResult

class Serve(Extension):
    async def execute(self, data=None, **kwargs):
        if len(data["kwargs"]["messages"]) > 3:
            return
        calls = [
            {"type": "function_call", "name": "effect", "call_id": "c" + arg, "arguments": '{"arg": "' + arg + '"}'}
            for arg in "ab"
        ]
        data["result"] = LLMResult.from_chat(response="", output_items=calls)
"""
    point = "extensions/python/_functions/models/LiteLLMChatWrapper/unified_turn/start/_50_server.py"
    world.add_plugin("server", {point: serve})
    model.script(answer("done"))
    client = world.start().client()
    chat = client.create_chat()

    assert client.say(chat, "go") == "done"

    assert world.effects() == ["start a", "end a", "start b", "end b"]
    saved = json.loads((world.chat_file(chat) or {})["agents"][0]["history"])
    items = [message["metadata"] for message in saved["current"]["messages"] if "tool_name" in message["content"] and not message["ai"]]
    assert [item["responses"]["input_items"][0]["call_id"] for item in items] == ["ca", "cb"]


def test_a_long_history_is_summed_up(tmp_path: Path, model: Model) -> None:
    with World(tmp_path / "world", model=model, plugin=None, env={"HISTORY_TOKENS": "60"}) as world:
        model.script(raw("what was said"), kind="utility", when="user_message", repeat=True)
        model.script(answer("yes " * 40), repeat=True)
        client = world.start().client()
        chat = client.create_chat()

        for number in range(4):
            client.say(chat, f"message {number}")
            client.wait_idle(chat)

        assert "what was said" in client.history(chat)
        assert "message 0" not in client.history(chat)
        assert "message 3" in client.history(chat)


def test_a_file_changed_by_hand_is_seen_and_forgets_all_plugin_modules(world: World) -> None:
    folder = world.add_plugin("worker", {"hooks.py": "", "inner.py": BORN, "api/look.py": API_LOOK})
    client = world.start(env={"WATCH_SECONDS": "0.05"}).client()
    first = client.call("plugins/worker/look")["module"]
    assert client.call("plugins/worker/look")["module"] == first

    (folder / "hooks.py").write_text("changed = True\n")
    client.wait(lambda: client.call("plugins/worker/look")["module"] != first)
    before = client.wait(lambda: world.output().count("files changed: ['worker']"))

    world.toggle_file(False, "worker")
    client.wait(lambda: world.output().count("files changed: ['worker']") > before)
    status = {"action": "get_toggle_status", "plugin_name": "worker"}
    assert client.call("plugins", status)["status"] == "disabled"
    assert client.call("plugins/worker/look")["module"]  # routes answer while the plugin is off


BORN = """
import uuid

name = uuid.uuid4().hex
"""
API_LOOK = """
from helpers import api
from usr.plugins.worker import inner

class Look(api.ApiHandler):
    async def process(self, input, request):
        from usr.plugins.worker import inner as now
        return {"module": now.name}
"""


def test_requests_need_the_token_and_errors_are_text(world: World) -> None:
    client = world.start().client()

    assert client.get("api/health").status == 200
    assert client.get("api/poll").status == 405
    assert client.ask("nothing_here").status == 404
    failed = client.ask("nudge", {})
    assert failed.status == 500
    assert "KeyError" in failed.text
    client._token = "wrong"
    assert client._post("poll", {}, 60).status == 403
    assert client.ask("poll", {}).status == 200


def test_a_file_of_the_caller_runs_in_the_child_before_the_server(world: World, tmp_path: Path, model: Model) -> None:
    inject = tmp_path / "inject.py"
    inject.write_text(
        "import os, signal\n"
        "from helpers import persist_chat\n"
        "persist_chat._write_atomic = lambda path, content: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    model.script(answer("done"))
    client = world.start(inject=inject).client()
    chat = client.create_chat()

    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "go")

    assert world.wait_dead() == -9
    assert world.chat_file(chat) is None
    world.start()
    assert client.context(chat) is None


def test_nobody_else_is_given_a_worlds_port_between_two_of_its_servers(world: World) -> None:
    world.start(wait=False)
    world.kill()

    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", world.port))
    assert world.start().client().get("api/health").status == 200
