"""Plays a story on a real server that is killed at given points, until the story is over, and checks what came of it.

A person looks at the server again and again and does the next thing that the story asks for; when the server is dead it
is started again. A message that was acknowledged is never sent again, one that was not is.
"""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refhost.client import Answer, Client
from refhost.model import Model, raw
from refhost.world import WorldDied
from tests.points import record
from tests.points.catalogue import POINTS
from tests.points.nursery import QuickWorld
from tests.support.story import Panel

if TYPE_CHECKING:
    from tests.points.stories import Story

INJECT = Path(__file__).with_name("inject.py")
CHAT = "story"
ADDED = "webui/added.js"  # a file that a story adds to the plugin under the running server
PATIENCE_S = 120.0
DYING_S = 60.0
LATE_S = 30.0
UNANSWERED = (OSError, HTTPException, urllib.error.URLError, json.JSONDecodeError)
FINAL = ("completed", "stopped", "failed")


class NotPassed(AssertionError):
    """The story ended without passing the point at which it was to be killed. `shape`: the record at the death before, if any."""

    def __init__(self, text: str, shape: str | None) -> None:
        super().__init__(text)
        self.shape = shape


@dataclass(frozen=True)
class Case:
    """A story, and the passages at which its first lives end: `richest/claim.written:1/…`."""

    story: str
    kills: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "/".join((self.story, *self.kills))

    @classmethod
    def of(cls, name: str) -> Case:
        story, *kills = name.split("/")
        return cls(story, tuple(kills))


class Stage:
    """One world and one model that many cases use one after another; `usr/` is new for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = Model.start(folder / "model")
        self.world = QuickWorld(folder / "world", model=self.model)

    def set_up(self, story: Story) -> None:
        self.world.kill()
        for path in self.world.usr.iterdir():
            if path.name not in (".env", "plugins"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in (self.world.usr / "plugins").iterdir():
            if path != self.world.plugin_folder:
                shutil.rmtree(path)
        self.world.toggle_file(True)
        for name in (ADDED, "config.json"):
            (self.world.plugin_folder / name).unlink(missing_ok=True)
        for path in (self.world.effects_file, self.world.folder / "server.log", self.model.folder / "requests.jsonl"):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "case", ignore_errors=True)
        (self.folder / "case").mkdir()
        for name, files in story.plugins.items():
            self.world.add_plugin(name, files)
        self.model.clear()
        self.model.script(raw("A name"), kind="utility", repeat=True)

    def close(self) -> None:
        self.world.close()
        self.model.stop()


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    made = Stage(folder)
    try:
        yield made
    finally:
        made.close()


@dataclass
class Life:
    """One process: where it was to die, what its record demanded of it, what a person was shown there, and what they settled."""

    kill: str | None
    demanded: str | None
    holds: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    died: bool = False


class Play:
    """One case being played."""

    def __init__(self, on: Stage, story: Story, case: Case) -> None:
        self.stage, self.story, self.case = on, story, case
        self.world, self.model = on.world, on.model
        self.folder = on.folder / "case"
        self.done: set[str] = set()
        self.lives: list[Life] = []
        self.shapes: list[str] = []  # of the record at each death
        self.met: set[str] = set()  # reasons to hold that a person was shown
        self.ids: dict[str, str] = {}
        self.traces: list[list[str]] = []  # of each life, until the story was over
        self.client: Client = None  # type: ignore[assignment]
        self.panel: Panel = None  # type: ignore[assignment]

    # -- lives ----------------------------------------------------------------------------------

    @property
    def kills(self) -> tuple[str, ...]:
        return (*self.story.before, *self.case.kills)

    def run(self) -> None:
        self.stage.set_up(self.story)
        self.story.script(self)
        end = time.monotonic() + PATIENCE_S
        over = False
        while not over:
            if time.monotonic() > end:
                raise TimeoutError(f"The story did not end.\n{self.state()}")
            try:
                if not self.world.alive:
                    self._begin_life()
                over = self._look()
            except (*UNANSWERED, WorldDied, Answer) as error:
                self._expect_death(error)
                continue
            if over and self._is_due():
                over = self._wait_for_late_death()
            elif not over:
                time.sleep(0.01)

    def _is_due(self) -> bool:
        return self.lives[-1].kill is not None and not self.lives[-1].died

    def _wait_for_late_death(self) -> bool:
        """The last thing that a turn does comes after everything that a person can see of it."""
        deadline = time.monotonic() + LATE_S
        while self.world.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        if self.world.alive:
            raise NotPassed(f"{self.lives[-1].kill} was never passed.\n{self.state()}", self.shapes[-1] if self.shapes else None)
        self._check_death()
        return False

    def _expect_death(self, error: Exception) -> None:
        """The server did not answer: it must be dying, at the point where it was to die."""
        deadline = time.monotonic() + DYING_S
        while self.world.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        if self.world.alive or not self._is_due():
            raise AssertionError(f"{type(error).__name__}: {error}\n{self.state()}") from error
        self._check_death()

    def _begin_life(self) -> None:
        if self.lives and not self.lives[-1].died:
            self._check_death()
        number = len(self.lives)
        kill = self.kills[number] if number < len(self.kills) else None
        found = record.look(self.world.data_folder) if number else None
        assert found is None or not found.miscounted(), f"{found.miscounted()}\n{self.state()}"
        self.lives.append(Life(kill, found.must_be_held_for() if found else None))
        if found:
            self.shapes.append(found.shape())
        mark = self.folder / "mark"
        mark.unlink(missing_ok=True)
        env = {"POINT": kill or "", "POINT_MARK": str(mark), "POINT_TRACE": str(self.trace_file(number)), **self.story.env(self)}
        self.world.start(env=env, inject=INJECT)
        self.client = self.world.client()
        self.panel = Panel(self.client)

    def trace_file(self, life: int) -> Path:
        return self.folder / f"trace-{life}"

    def trace(self, life: int) -> list[str]:
        """Every passage of a life, in order."""
        path = self.trace_file(life)
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def _check_death(self) -> None:
        """It was the kill of this case, and what was to be durable there is, and nothing more."""
        mark = self.folder / "mark"
        if not mark.exists():
            raise AssertionError(f"The server ended, but not at {self.lives[-1].kill}.\n{self.state()}")
        said = json.loads(mark.read_text("utf-8"))
        self.lives[-1].died = True
        assert said["point"] == str(self.lives[-1].kill).rpartition(":")[0]
        step = said["point"].rpartition(".")[2]
        if step in ("written", "committed"):
            assert record.look(self.world.data_folder).batch == said["batch"], "a batch is there that was not committed, or is not"

    # -- the person -----------------------------------------------------------------------------

    def _look(self) -> bool:
        """Do what is due, once; whether the story is over."""
        self.lives[-1].seen.update(item["reason"]["code"] for item in self._held())
        for step in self.story.steps:
            if step.key not in self.done and step.when(self):
                step.do(self)
                self.done.add(step.key)
        if held := self._held():
            self._settle(self.panel.run(held[0]["run_id"]))
            return False
        if any(step.key not in self.done for step in self.story.steps if step.needed):
            return False
        runs = [run for run in self.panel.all_runs() if run["chat_id"] == CHAT]
        ended = len(runs) >= len(self.story.states) and all(run["state"] in FINAL for run in runs)
        return ended and not self.client.running(CHAT)

    def _held(self) -> list[dict[str, Any]]:
        return [item for item in self.panel.needs_you() if item["chat_id"] == CHAT]

    def _settle(self, detail: dict[str, Any]) -> None:
        reason = detail["run"]["reason"]["code"]
        self.met.add(reason)
        decisions = [offer for offer in detail["decisions"] if offer["allowed"] and offer["id"] != "stop"]
        ways_out = [*decisions, *detail["grants"], *(offer for offer in detail["restore"] if offer["allowed"])]
        assert ways_out, f"held for {reason} with no way out but Stop"
        reply = self.story.decide(self, detail)
        assert reply.status in (200, 409), reply.text
        if reply.status == 200:
            self.lives[-1].holds.append(reason)

    def send(self, key: str, text: str) -> None:
        """Send one message; the same again has the same id."""
        ident = self.ids.setdefault(key, uuid.uuid4().hex)
        self.client.send(CHAT, text, ident)

    def started(self, effect: str) -> bool:
        return f"start {effect}" in self.world.effects()

    def run_view(self) -> dict[str, Any] | None:
        """The newest run of the chat."""
        return next((run for run in self.panel.all_runs() if run["chat_id"] == CHAT), None)

    def path(self, name: str) -> Path:
        return self.folder / name

    # -- for people -----------------------------------------------------------------------------

    def state(self) -> str:
        lives = [f"life {n}: {life}; last passed {self.trace(n)[-6:]}" for n, life in enumerate(self.lives)]
        requests = [[str(m["content"])[:160] for m in r.messages[1:]] for r in self.model.requests("chat")]
        found = record.look(self.world.data_folder)
        runs = [{k: run[k] for k in ("state", "hold_reason", "recoveries")} for run in found.runs]
        calls = [(c["kind"], c["name"], c["outcome"], c["attempts"]) for c in found.calls]
        parts = [*lives, f"done {sorted(self.done)}", f"effects {self.world.effects()}", f"runs {runs}", f"calls {calls}"]
        return "\n".join([*parts, *(f"request {r}" for r in requests), self.world.output()[-1500:]])


def play(on: Stage, story: Story, case: Case) -> Play:
    """Play one case and check it. Raises AssertionError with everything that is known when something is wrong."""
    from tests.points import checks

    unknown = [kill for kill in case.kills if kill.rpartition(":")[0] not in POINTS]
    assert not unknown, f"not in the catalogue: {unknown}"
    played = Play(on, story, case)
    try:
        played.run()
        played.traces = [played.trace(life) for life in range(len(played.lives))]
        checks.check(played)
    except AssertionError as error:
        if "\nlife 0" in str(error):
            raise
        raise AssertionError(f"{error}\n{played.state()}") from error
    finally:
        on.world.kill()
    return played
