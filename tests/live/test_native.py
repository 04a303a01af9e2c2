"""Several native calls in one answer, on the real host: each reused or held by itself, all results in one request.

What a scripted model says in a chat stream becomes a text call before the host looks for native ones. So a plugin of
the test answers one request in the model's place, with an answer that asks for several calls by itself.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say, tool_call
from .recovery import NOTE, Recovery

ASK = "ANSWER-WITH-CALLS"
INSTEAD = """
import json, os
from pathlib import Path

from helpers.extension import Extension, _UNSET
from helpers.llm_result import LLMResult


class Instead(Extension):
    async def execute(self, data=None, **kwargs):
        spoken = "\\n".join(str(message.content) for message in data["kwargs"]["messages"][1:])
        if data["result"] is not _UNSET or "ANSWER-WITH-CALLS" not in spoken or "tool_result" in spoken:
            return
        items = json.loads(Path(os.environ["LIVE_NATIVE"]).read_text())
        with Path(os.environ["LIVE_NATIVE"] + ".asked").open("a") as asked:
            asked.write("asked\\n")
        data["result"] = LLMResult.from_response({"id": "resp_1", "output": items})
"""


@pytest.fixture
def module_host(module_host: LiveHost) -> LiveHost:
    folder = module_host.home / "usr" / "plugins" / "instead"
    hook = folder / "extensions/python/_functions/models/LiteLLMChatWrapper/unified_turn/start"
    hook.mkdir(parents=True, exist_ok=True)
    (hook / "_96_instead.py").write_text(INSTEAD)
    (folder / "plugin.yaml").write_text("name: instead\ntitle: Instead\ndescription: for a test\nversion: 0.0.1\n")
    (folder / ".toggle-1").touch()
    if not module_host.running:
        module_host.start(env=env(module_host))
    return module_host


def env(host: LiveHost) -> dict[str, str]:
    return {"LIVE_NATIVE": str(host.folder / "native.json")}


def asked(host: LiveHost) -> int:
    return (host.folder / "native.json.asked").read_text().count("asked")


def script(host: LiveHost, *texts: str) -> None:
    """What the answer asks for: the same calls that these texts ask for one by one."""
    (host.folder / "native.json.asked").unlink(missing_ok=True)
    wanted = [json.loads(text) for text in texts]
    (host.folder / "native.json").write_text(json.dumps([item(n, call) for n, call in enumerate(wanted)]))


def item(n: int, call: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call["tool_args"])
    return {"type": "function_call", "id": f"item_{n}", "call_id": f"call_{n}", "name": call["tool_name"], "arguments": arguments}


def kill_in(host: LiveHost, effect: Effect) -> None:
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start(env=env(host))


def tools(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(call["path"], call["name"], call["outcome"]) for call in run["calls"] if call["kind"] == "tool"]


def test_killed_in_the_second_of_two_native_calls_the_first_is_reused(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Any
) -> None:
    first, second = make_effect("first"), make_effect("second")
    script(host, first.once(), second.gated())
    chat = client.new_chat()
    client.send(chat, ASK)
    kill_in(host, second)

    run = recovery.held(chat)
    assert tools(run) == [("A0", "code_execution_tool", "ok"), ("A0", "code_execution_tool", "open")]
    model.script(say("Both are done."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "Both are done.")

    assert (first.lines, second.lines, asked(host)) == (["first"], ["start", "end"], 1)
    assert len(model.main) == 1
    assert (model.main[0].count("tool_result"), model.main[0].count(NOTE)) == (2, 1)


def test_after_a_kill_inside_a_native_subordinate_the_calls_beside_it_are_made(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Any
) -> None:
    inner, beside = make_effect("inner"), make_effect("beside")
    script(host, tool_call("call_subordinate", {"message": "ORDER-ONE", "reset": "true"}), beside.once())
    chat = client.new_chat()
    model.script(inner.gated())
    client.send(chat, ASK)
    kill_in(host, inner)

    run = recovery.held(chat)
    assert tools(run) == [("A0", "call_subordinate", "open"), ("A0.1:0", "code_execution_tool", "open")]
    model.script(say("THE-ANSWER-BELOW"), say("All done."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "All done.")

    assert (inner.lines, beside.lines, asked(host)) == (["start", "end"], ["beside"], 1)
    last = model.main[-1]
    assert (last.count("THE-ANSWER-BELOW"), last.count("tool_result"), last.count(NOTE)) == (1, 2, 0)
