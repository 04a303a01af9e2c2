"""Scenes that several bridge tests begin with, and a plugin that looks at the host from inside."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from refhost.client import Client
from refhost.model import Model, answer, use
from refhost.world import World
from tests.support.story import API, Panel

LOOK = '''
"""Names every function, class and method of the host's modules, with the identity of the object and of its parts."""

import sys
from pathlib import Path

from helpers import api, files


class Look(api.ApiHandler):
    async def process(self, input, request):
        root, seen = Path(files.get_abs_path("")), {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and Path(file).is_relative_to(root) and not Path(file).is_relative_to(root / "usr"):
                for key, value in list(vars(module).items()):
                    seen[f"{name}.{key}"] = parts(value)
                    if isinstance(value, type) and value.__module__ == name:
                        seen.update({f"{name}.{key}.{k}": parts(v) for k, v in list(vars(value).items())})
        return {"seen": {key: value for key, value in seen.items() if value}}


def parts(value):
    """Nothing for what is only data; for code: the object, its code, its cells and what they hold."""
    if not callable(value) and not isinstance(value, (staticmethod, classmethod, property)):
        return None
    cells = getattr(value, "__closure__", None) or ()
    return [id(value), id(getattr(value, "__code__", None)), *[id(cell.cell_contents) for cell in cells]]
'''

DIRECT = '''
"""A turn as the scheduler begins one: straight into the loop, past `communicate`."""

from agent import AgentContext, UserMessage
from helpers import api
from helpers.defer import DeferredTask


class Direct(api.ApiHandler):
    async def process(self, input, request):
        agent = AgentContext.get(input["context"]).agent0

        async def turn():
            try:
                agent.hist_add_user_message(UserMessage(input["text"]))
                return await agent.monologue()
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        return {"answer": await DeferredTask("TaskScheduler").start_task(turn).result()}
'''


def add_probe(world: World) -> None:
    """A test-only plugin with routes `plugins/probe/look` and `plugins/probe/direct`."""
    world.add_plugin("probe", {"api/look.py": LOOK, "api/direct.py": DIRECT})


def identities(client: Client) -> dict[str, list[int]]:
    return client.call("plugins/probe/look")["seen"]


def script_effect(model: Model, gate: Path) -> None:
    """One effect that waits for the gate, then the answer; the same in every chat."""
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("effect", arg="a", gate=str(gate)), when="please", repeat=True)


def begin_effect(world: World, text: str = "please") -> str:
    """A chat whose effect has begun and waits for its gate."""
    client, before = world.client(), len(world.effects())
    chat = client.create_chat()
    client.send(chat, text)
    client.wait(lambda: len(world.effects()) > before, what="the effect to start")
    return chat


def hold_in_effect(world: World, text: str = "please") -> str:
    """A chat that was killed inside its effect and is held after the restart."""
    chat = begin_effect(world, text)
    world.restart()
    Panel(world.client()).wait_held(chat)
    return chat


def ended(world: World, chat: str) -> str:
    """Wait until the newest run of this chat has ended, and return how."""
    panel = Panel(world.client())

    def look() -> str:
        run = next(run for run in panel.all_runs() if run["chat_id"] == chat)
        return run["state"] if run["state"] in ("completed", "stopped", "failed") else ""

    return world.client().wait(look, what="the run to end")


def calls(world: World, chat: str) -> list[dict[str, Any]]:
    panel = Panel(world.client())
    run = next(run for run in panel.all_runs() if run["chat_id"] == chat)
    return panel.run(run["run_id"])["calls"]


def errors(world: World, chat: str) -> list[dict[str, Any]]:
    """What the host shows of an error that reached its loop."""
    return [i for i in world.client().logs(chat) if i["type"] in ("error", "warning") and "Traceback" in i["content"]]


def status(world: World) -> dict[str, Any]:
    return world.client().call(API + "status")


def wait_status(world: World, **wanted: Any) -> dict[str, Any]:
    """Wait until the status has these values."""

    seen: dict[str, Any] = {}

    def look() -> bool:
        seen.clear()
        seen.update(status(world))
        return all(seen.get(key) == value for key, value in wanted.items())

    try:
        world.client().wait(look, what=f"the status {wanted}")
    except TimeoutError as late:
        raise TimeoutError(f"{late}; the status is {seen}") from None
    return seen


@contextmanager
def locked(world: World) -> Iterator[None]:
    """Another program holds the write lock of the journal."""
    connection = sqlite3.connect(world.data_folder / "journal.db", isolation_level=None, timeout=10)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


class Saying(threading.Thread):
    """Sends a message the way that waits for its answer; `answer` has it once it came."""

    def __init__(self, world: World, chat: str, text: str) -> None:
        super().__init__(daemon=True)
        self.answer = ""
        self._say = lambda: world.client().say(chat, text)
        self.start()

    def run(self) -> None:
        self.answer = self._say()
