"""How a call can end, and what a later life makes of it: told, raised again, served, held; never a second effect."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from refhost.model import answer, error, use
from refhost.world import World
from tests.support.scenes import calls, ended, status
from tests.support.story import FAULTS, Panel

SILENT = {"timeout": "TimeoutError", "connection": "ConnectionError", "broken_pipe": "BrokenPipeError"}
LOUD = {"value": "ValueError", "oserror": "OSError", "repairable": "RepairableException"}
UNKNOWN = "The outcome of this step is unknown"


def fault(world: World, moment: str) -> dict[str, str]:
    return {"FAULT": moment, "FAULT_MARK": str(world.folder / "killed")}


def one_chat(world: World, text: str = "please") -> str:
    client = world.client()
    chat = client.create_chat()
    client.send(chat, text)
    return chat


def last_words(request) -> str:
    """What the model was told last, without tracebacks, paths and times."""
    content = str(request.messages[-1]["content"]).split("[EXTRAS]")[0]
    return re.sub(r"Traceback.*", "", content, flags=re.DOTALL)


def of_chat(model, text: str) -> list:
    return [request for request in model.requests("chat") if text in request.prompt]


def test_each_ending_is_told_once_and_told_again_the_same_after_a_kill(world, model):
    """All kinds side by side: recorded, killed in the model call that follows, replayed from the record."""
    kinds = {**SILENT, **LOUD}
    for kind in kinds:
        model.script(use("effect", arg=kind, raises=kind), answer("all done", gate="go"), when=f"please {kind}", repeat=True)
    world.start()
    chats = {kind: one_chat(world, f"please {kind}") for kind in kinds}
    model.wait_requests(2 * len(kinds))
    for kind, chat in chats.items():
        assert [c["outcome"] for c in calls(world, chat)] == ["ok", "unknown" if kind in SILENT else "error", "open"]
        told = last_words(of_chat(model, f"please {kind}")[1])
        assert kinds[kind] in told
        assert (UNKNOWN in told) is (kind in SILENT)
        assert kind not in SILENT or not [i for i in world.client().logs(chat) if i["type"] in ("error", "warning")]

    world.restart()
    panel = Panel(world.client())
    model.release("go")
    for chat in chats.values():
        detail = panel.wait_held(chat)
        assert detail["run"]["reason"]["code"] == "model_interrupted"
        assert panel.grant(detail).status == 200

    for kind, chat in chats.items():
        assert ended(world, chat) == "completed"
        before, after = of_chat(model, f"please {kind}")[1:]
        assert last_words(after) == last_words(before)
    assert sorted(world.effects()) == sorted(f"{word} {kind}" for kind in kinds for word in ("start", "end"))


@pytest.mark.parametrize("kind", ["timeout", "value", "repairable", "handled"])
def test_killed_right_after_the_ending_was_saved(world, model, kind):
    model.script(use("effect", arg="a", raises=kind), answer("all done"), repeat=True)
    world.start(env=fault(world, "after:finish_call.tool:1"), inject=FAULTS)
    chat = one_chat(world)
    world.wait_dead()

    world.start()

    assert ended(world, chat) == ("failed" if kind == "handled" else "completed")
    assert world.effects() == ["start a", "end a"]
    assert len(model.requests("chat")) == (1 if kind == "handled" else 2)


@pytest.mark.parametrize("moment", ["", "after:finish_call.model:1"])
def test_a_model_error_is_a_result_and_the_next_request_a_new_call(world, model, moment):
    model.script(error(500), error(500), error(500), answer("second time lucky"))
    world.start(env=fault(world, moment), inject=FAULTS if moment else None)
    chat = one_chat(world)
    if moment:
        world.wait_dead()
        world.start()

    assert ended(world, chat) == "completed"
    assert [c["status"] for c in calls(world, chat) if c["kind"] == "model"] == ["error", "saved"]
    assert len(model.requests("chat")) == 4
    assert "500" in last_words(model.requests("chat")[-1])
    assert requests_of_models(world, chat) == [["The provider was asked 3 times in this call"], []]


def test_what_was_asked_again_inside_one_call_is_one_call_with_one_usage(world, model):
    model.script(error(503), error(429), use("effect", arg="a"), answer("all done"))
    world.start(env=fault(world, "after:finish_call.tool:1"), inject=FAULTS)
    chat = one_chat(world)
    world.wait_dead()
    world.start()

    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 4
    assert requests_of_models(world, chat) == [["The provider was asked 3 times in this call"], []]
    usage = (panel := Panel(world.client())).run(panel.all_runs()[0]["run_id"])["usage"]
    assert (usage["calls"], usage["not_known"]) == (2, 0)


def requests_of_models(world, chat):
    models = [call for call in calls(world, chat) if call["kind"] == "model"]
    return [[found["text"] for found in call["evidence"] if found["what"] == "requests"] for call in models]


ODD = '''
"""Returns what no tool should."""

import os

from helpers import tool
from helpers.errors import RepairableException


class Bad:
    def __repr__(self):
        raise RuntimeError("no repr")

    __str__ = __repr__


class OwnError(RepairableException):
    pass


class Odd(tool.Tool):
    async def execute(self, kind="", **kwargs):
        with open(os.environ["EFFECTS"], "a") as file:
            file.write(f"odd {kind} {os.getpid()}\\n")
        loop = {}
        loop["loop"] = loop
        messages = {"bytes": b"\\xff\\x00", "surrogate": "a\\ud800b", "big": "x" * 5_000_000, "empty": "", "nan": float("nan")}
        additional = {"object": {"x": Bad()}, "loop": loop, "not_a_number": {"x": float("nan"), "y": b"b"}}
        if kind in ("none", "text"):
            return {"none": None, "text": "no response object"}[kind]
        if kind == "own_error":
            raise OwnError("raised")
        if kind == "raises":
            raise ValueError(Bad())
        if kind == "log":
            self.log = Bad()
        return tool.Response(message=messages.get(kind, "fine"), break_loop=False, additional=additional.get(kind))
'''
KINDS = ("bytes", "surrogate", "big", "empty", "nan", "object", "loop", "not_a_number", "none", "text", "raises", "own_error", "log")


def test_whatever_a_tool_returns_it_runs_once(world, model):
    world.add_plugin("odd", {"tools/odd.py": ODD})
    for kind in KINDS:
        model.script(use("odd", kind=kind), answer("all done", gate="go"), when=f"please {kind}.", repeat=True)
    world.start()
    chats = {kind: one_chat(world, f"please {kind}.") for kind in KINDS}
    world.client().wait(lambda: len(world.effects()) == len(KINDS), what="all effects")
    client = world.client()
    client.wait(lambda: all(calls(world, c)[1:] and calls(world, c)[1]["outcome"] != "open" for c in chats.values()), what="all results")

    world.restart()
    panel = Panel(world.client())
    model.release("go")
    for chat in chats.values():
        settle(world, panel, chat)

    assert sorted(world.effects()) == sorted(f"odd {kind}" for kind in KINDS)


def settle(world: World, panel: Panel, chat: str) -> None:
    """Go on as a person would who knows that the step happened."""
    client = world.client()

    def look():
        run = next(run for run in panel.all_runs() if run["chat_id"] == chat)
        return run if run["state"] in ("held", "completed", "failed") else None

    for _ in range(4):
        run = client.wait(look, what="the run to be held or to end")
        if run["state"] != "held":
            return
        detail = panel.run(run["run_id"])
        if detail["run"]["reason"]["code"] == "model_interrupted":
            assert panel.grant(detail).status == 200
        else:
            assert detail["run"]["reason"]["code"] == "not_servable"
            assert panel.decide(detail, "confirmed_completed", "it is in the file").status == 200
    raise AssertionError("the run never ended")


def test_a_wait_that_was_cut_off_ends_at_its_recorded_time(world, model):
    model.script(use("wait", seconds=4), answer("all done"), repeat=True)
    world.start(env=fault(world, "after:begin_call.tool:1"), inject=FAULTS)
    chat = one_chat(world)
    world.wait_dead()
    target = time.time() + 4
    while time.time() < target:
        time.sleep(0.05)  # the moment itself is what is waited for

    world.start()

    item = world.client().wait_log(chat, "progress", "Wait:")
    left = re.search(r"Wait: ([\d.]+)s remaining", item["heading"])
    assert left is None or float(left[1]) <= 1.0
    assert ended(world, chat) == "completed"
    assert [c["attempts"] for c in calls(world, chat) if c["name"] == "wait"] == [2]


def hold_with_another_file(world: World, model, tool: str, change) -> str:
    """Killed when this tool was about to run; its file is not the pinned one at the next start."""
    world.start(env=fault(world, "after:begin_call.tool:1"), inject=FAULTS)
    chat = one_chat(world)
    world.wait_dead()
    change()
    world.start()
    assert status(world)["active"] is True
    return Panel(world.client()).wait_held(chat)["run"]["reason"]["code"]


def test_a_tool_whose_file_was_changed_since_is_held(world, model):
    model.script(use("wait", seconds=1), answer("all done"), repeat=True)
    file = world.folder / "tools/wait.py"

    def change() -> None:
        file.write_text(file.read_text() + "\n# newer\n")
        world.write_pins()

    assert hold_with_another_file(world, model, "wait", change) == "outcome_unknown"


def test_a_response_tool_of_another_plugin_is_not_the_pinned_one(world, model):
    model.script(answer("all done"), repeat=True)
    source = (world.folder / "tools/response.py").read_text()
    world.add_plugin("other", {"tools/response.py": source + "\n# with an effect of its own, perhaps\n"})

    assert hold_with_another_file(world, model, "response", lambda: None) == "outcome_unknown"


def test_a_response_tool_that_came_later_is_not_the_recorded_one(world, model):
    model.script(answer("all done"), repeat=True)
    source = (world.folder / "tools/response.py").read_text()

    def change() -> None:
        world.add_plugin("other", {"tools/response.py": source + "\n# with an effect of its own, perhaps\n"})

    assert hold_with_another_file(world, model, "response", change) == "outcome_unknown"
    assert Path(world.data_folder, "journal.db").exists()


def test_a_cancellation_inside_a_tool_that_nobody_asked_for_proves_nothing(world, model):
    world.start()
    model.script(use("effect", arg="a", raises="cancelled"), answer("all done"), repeat=True)
    client = world.client()
    chat = client.create_chat()

    assert client.say(chat, "please") == "all done"

    assert [(c["status"], c["attempts"]) for c in calls(world, chat) if c["name"] == "effect"] == [("unknown", 1)]
    assert "may have happened" in model.requests("chat")[1].prompt
