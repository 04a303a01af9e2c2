"""SIGKILL at every moment of a turn with one effect, and a second process that goes on.

Whatever the moment: exactly one effect, every message and result exactly once and in
order in each request that the model received (I14), and a run that ends.
"""

from __future__ import annotations

import contextlib
import uuid
from pathlib import Path

import pytest

from refhost.model import Model, answer, use
from refhost.world import World
from tests.support.story import FAULTS, Panel, settle

pytestmark = pytest.mark.crash

RESULT = "result-of-the-effect"
TEXT = "please do it once"

# moment, model requests in all, hold reasons that a person settles
POINTS = [
    ("before:admit:1", 2, []),
    ("after:admit:1", 2, []),
    ("before:begin_call.model:1", 2, []),
    ("after:begin_call.model:1", 2, ["model_interrupted"]),
    ("before:finish_call.model:1", 3, ["model_interrupted"]),
    ("after:finish_call.model:1", 2, []),
    ("before:begin_call.tool:1", 2, []),
    ("after:begin_call.tool:1", 2, ["outcome_unknown"]),
    ("before:finish_call.tool:1", 2, ["outcome_unknown"]),
    ("after:finish_call.tool:1", 2, []),
    ("before:checkpoint:2", 2, []),
    ("after:checkpoint:2", 2, []),
    ("before:begin_call.model:2", 2, []),
    ("after:begin_call.model:2", 2, ["model_interrupted"]),
    ("before:finish_call.model:2", 3, ["model_interrupted"]),
    ("after:finish_call.model:2", 2, []),
    ("after:begin_call.tool:2", 2, []),  # the response tool may run again
    ("after:finish_call.tool:2", 2, []),
    ("before:close_run:1", 2, []),
    ("after:close_run:1", 2, []),
]


def script(model: Model) -> None:
    """The scripted model answers by what it is shown, so that a second request gets the right answer too."""
    model.script(answer("all done"), when=RESULT, repeat=True)
    model.script(use("effect", arg="a", value=RESULT), repeat=True)


def fault_env(tmp_path: Path, fault: str) -> dict[str, str]:
    return {"FAULT": fault, "FAULT_MARK": str(tmp_path / "killed")}


def assert_each_once(model: Model, text: str = TEXT) -> None:
    """I14: no request is empty, and none carries a message, call or result twice or out of order."""
    requests = model.requests("chat")
    assert requests
    for request in requests:
        told = [m["content"] for m in request.messages if m["role"] == "user"]
        called = [m["content"] for m in request.messages if m["role"] == "assistant"]
        assert sum(str(c).count(text) for c in told) == 1
        assert sum(str(c).count(RESULT) for c in told) <= 1
        assert sum(1 for c in called if '"effect"' in str(c)) <= 1
        roles = [m["role"] for m in request.messages if m["role"] != "system"]
        assert roles == ["assistant", "user"] * (len(roles) // 2)  # the chat begins with a greeting
    assert model.unscripted() == []


def assert_looks_untouched(world: World, chat: str, warnings: int) -> None:
    """One bubble of each message and answer, as if nothing had happened."""
    logs = world.client().logs(chat)
    assert [item["content"] for item in logs if item["type"] == "user"] == [TEXT]
    assert [item["content"] for item in logs if item["type"] == "response"][1:] == ["all done"]
    assert len([item for item in logs if item["type"] == "warning"]) == warnings
    assert len([item for item in logs if item["type"] == "tool"]) <= 1


@pytest.mark.parametrize(("fault", "requests", "reasons"), POINTS, ids=[p[0] for p in POINTS])
def test_one_effect_whatever_the_moment_of_the_kill(tmp_path, fault, requests, reasons):
    ident = uuid.uuid4().hex
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        script(model)
        world.start(env=fault_env(tmp_path, fault), inject=FAULTS)
        client = world.client()
        chat = client.create_chat()
        with contextlib.suppress(OSError):  # the server may die before it answers
            client.ask("message_async", {"text": TEXT, "context": chat, "message_id": ident})
        world.wait_dead()

        world.start(env=fault_env(tmp_path, fault), inject=FAULTS)
        if fault == "before:admit:1":
            assert world.client().context(chat) is None  # it was never acknowledged: the person sends it again
        world.client().send(chat, TEXT, ident)
        met = settle(world, chat, "a", result_text=RESULT)

        assert met == reasons
        assert world.effects().count("start a") == 1
        assert len(model.requests("chat")) == requests
        assert_each_once(model)
        assert_looks_untouched(world, chat, warnings=len(reasons))
        assert [r["state"] for r in Panel(world.client()).all_runs()] == ["completed"]
