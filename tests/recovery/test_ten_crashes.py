"""Ten real kills of one run: what the model is shown, the notes in the chat and the resume point do not grow (I14)."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time

import pytest

from refhost.model import Model, answer, raw, use
from refhost.world import World, WorldDied
from tests.support.scenes import ended
from tests.support.story import Panel
from tests.support.traps import MOMENTS

pytestmark = pytest.mark.crash

TEXT = "please look it up"
SEEN = "what-the-page-said"
LOST = "These were lost"
CRASHES = 10

BROWSER = f'''
"""A tool that leaves a page open in memory, as the host's own browser does."""

from helpers import tool


class Browser(tool.Tool):
    async def execute(self, **kwargs):
        return tool.Response(message="{SEEN}", break_loop=False)
'''

# One place in each life. Those without a step of its own between them stay below what is held as a crash loop.
PLACES = (
    "after:finish_call.tool:1",
    "before:rebuild:1",
    "after:settle:1",
    "before:claim:1",
    "after:launch:1",
    "after:begin_call.model:2",  # the first is served
    "before:finish_call.model:1",
    "after:finish_call.model:1",
    "after:claim:1",
    "before:close_run:1",
)


def world_with_browser(tmp_path, model: Model) -> World:
    world = World(tmp_path / "world", model=model)
    world.add_plugin("pages", {"tools/browser.py": BROWSER})
    return world


def shown(model: Model) -> list[list[tuple[str, str]]]:
    """Role and words of every message of every request, the system prompt and the time of day aside."""
    return [
        [(m["role"], str(m["content"]).partition("[EXTRAS]")[0]) for m in r.messages if m["role"] != "system"]
        for r in model.requests("chat")
    ]


def notes(messages: list[tuple[str, str]]) -> int:
    return sum(words.count(LOST) for _, words in messages)


def line_with_note(words: str) -> str:
    """The host joins what it tells the model in a row: the note is one line of a message."""
    return next((line for line in words.splitlines(keepends=True) if LOST in line), "\0")


def stored(world: World) -> dict[str, int]:
    """What the journal holds of resume points: bytes of all parts, and of the newest root."""
    db = sqlite3.connect(f"file:{world.data_folder / 'journal.db'}?mode=ro", uri=True)
    try:
        parts = db.execute(
            "select coalesce((select sum(length(body)) from blobs where is_node = 1), 0)"
            " + coalesce((select sum(length(body)) from checkpoints), 0)"
        ).fetchone()[0]
        root = db.execute("select length(body) from checkpoints where body is not null order by seq desc limit 1").fetchone()[0]
    finally:
        db.close()
    return {"parts": parts, "root": root}


def test_ten_kills_in_the_same_model_call(tmp_path):
    with Model.start(tmp_path / "model") as model, world_with_browser(tmp_path, model) as world:
        cut = [raw("x" * 300, gate="never", gate_at=5) for _ in range(CRASHES)]
        model.script(use("browser", url="here"), *cut, answer("all done"))
        client = world.start().client()
        chat = client.create_chat()
        client.send(chat, TEXT)
        sizes = []
        for number in range(CRASHES):
            model.wait_requests(number + 2)
            world.kill()
            sizes.append(stored(world))
            world.start()
            panel = Panel(world.client())
            assert panel.grant(panel.wait_held(chat)).status == 200

        assert ended(world, chat) == "completed"
        first, second, *later = shown(model)
        assert [notes(first), notes(second)] == [0, 0]
        assert [notes(messages) for messages in later] == [1] * CRASHES
        for messages in later:
            assert messages == later[0]
        assert [(role, words.replace(line_with_note(words), "")) for role, words in later[0]] == second
        assert max(size["root"] for size in sizes[2:]) - sizes[2]["root"] < 20  # times of day differ in length
        grown = [after["parts"] - before["parts"] for before, after in itertools.pairwise(sizes[2:])]
        assert max(grown) - min(grown) < 200, grown
        warnings = [item for item in world.client().logs(chat) if item["type"] == "warning"]
        assert len(warnings) <= 1


def test_ten_kills_at_ten_places(tmp_path):
    with Model.start(tmp_path / "model") as model, world_with_browser(tmp_path, model) as world:
        model.script(answer("all done"), when=SEEN, repeat=True)
        model.script(use("browser", url="here"), repeat=True)
        chat = ""
        for number, place in enumerate(PLACES):
            world.start(env={"FAULT": place, "FAULT_MARK": str(tmp_path / f"killed{number}")}, inject=MOMENTS, wait=False)
            chat = go_on_until_dead(world, chat)

        world.start()
        finish(world, chat)

        for messages in shown(model):
            assert notes(messages) <= 1
            assert sum(TEXT in words for _, words in messages) == 1
            assert sum(SEEN in words for role, words in messages if role == "user") <= 1
            assert sum('"browser"' in words for role, words in messages if role == "assistant") <= 1
        assert len(model.requests("chat")) <= 4
        logs = world.client().logs(chat)
        assert [item["content"] for item in logs if item["type"] == "user"] == [TEXT]
        assert [item["content"] for item in logs if item["type"] == "response"][1:] == ["all done"]


def go_on_until_dead(world: World, chat: str) -> str:
    """Do what a person would until the server is gone; returns the chat."""
    end = time.monotonic() + 30
    sent = bool(chat)
    with contextlib.suppress(WorldDied):
        world.wait_ready()
    while world.alive and time.monotonic() < end:
        with contextlib.suppress(OSError, StopIteration):
            client = world.client()
            if not sent:
                chat, sent = client.create_chat(), True
                client.send(chat, TEXT)
            decide(Panel(client), chat)
        time.sleep(0.05)
    assert not world.alive, Panel(world.client()).run(Panel(world.client()).all_runs()[0]["run_id"])
    return chat


def decide(panel: Panel, chat: str) -> None:
    for item in [item for item in panel.needs_you() if item["chat_id"] == chat]:
        detail = panel.run(item["run_id"])
        if detail["run"]["reason"]["code"] == "model_interrupted":
            panel.grant(detail)
        else:
            panel.decide(detail, "confirmed_completed", "seen", result_text=SEEN)


def finish(world: World, chat: str) -> None:
    panel = Panel(world.client())

    def look() -> bool:
        decide(panel, chat)
        return next(run for run in panel.all_runs() if run["chat_id"] == chat)["state"] == "completed"

    world.client().wait(look, what="the run to end")
