"""`make demo`: a chat loses its server in the middle of a command, and a person decides.

Plain, it stops at the hold, prints the address of the panel and stays. With --check it
plays the whole story and compares what happened with what was promised. Server, model
and command are processes of their own. What happened in the world is read from a file
that only the command writes, what is recorded from the plugin's API; nothing is assumed.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from refhost.client import Client
from refhost.model import Model, answer, use
from refhost.world import World, WorldDied

API = "plugins/durable_execution/"
MESSAGE = "Publish release 1.4, please."
ANSWER = "Release 1.4 is published."
NOTE = "Seen in the file that the command writes."


@dataclass(frozen=True)
class Tally:
    """What the last line says: effects in the world, and what the journal shows."""

    effects: int
    reused: int
    held: int
    completed: int

    def __str__(self) -> str:
        return f"effects {self.effects}, reused {self.reused}, held {self.held}, completed {self.completed}"


PROMISED = {
    "confirmed_completed": Tally(effects=1, reused=1, held=1, completed=1),
    "confirmed_not_completed": Tally(effects=2, reused=1, held=1, completed=1),
    "new_attempt": Tally(effects=2, reused=1, held=1, completed=1),
    "stop": Tally(effects=1, reused=0, held=1, completed=0),
}


class Broken(Exception):
    """The story did not go as promised. The text says where."""


class Story:
    """One chat, one command with an effect, one crash. Each step prints what it did."""

    def __init__(self, world: World, model: Model, effects: Path, gate: Path) -> None:
        self.world, self.model, self.file, self.gate = world, model, effects, gate
        self.file.touch()
        self.lines_before = len(self.file.read_text().splitlines())
        self.steps = 0
        self.client: Client
        self.chat = self.run_id = ""

    def say(self, text: str) -> None:
        self.steps += 1
        print(f"{self.steps}. {text}", flush=True)

    def effects(self) -> list[float]:
        """The moments at which the command had its effect, from the outside file."""
        return [float(line.split()[-1]) for line in self.file.read_text().splitlines()[self.lines_before :]]

    def ask(self, name: str, **body: Any) -> dict[str, Any]:
        return self.client.call(API + name, body)

    def run(self) -> dict[str, Any]:
        return self.ask("recovery_run", run_id=self.run_id)

    def begin(self, port: int | None) -> None:
        """Up to the middle of the command."""
        write = f"echo release-1.4 $(date +%s.%N) >> {shlex.quote(str(self.file))}"
        wait = f"until [ -e {shlex.quote(str(self.gate))} ]; do sleep 0.05; done"
        self.model.script(use("code_execution_tool", runtime="terminal", code=f"{write}; {wait}"), answer(ANSWER))
        self.world.start(port=port)
        self.client = self.world.client()
        status = self.ask("status")
        if not status["active"]:
            raise Broken(f"the plugin is not active: {status['why_not']}")
        self.chat = self.client.create_chat()
        self.client.send(self.chat, MESSAGE)
        self.say(f"A message arrives: “{MESSAGE}” It is recorded before it is acknowledged.")
        self.client.wait(self.effects, what="the command's effect")
        self.say("The model asked for a shell command. Its intent is recorded, then it starts: the effect is out in the world.")

    def crash(self) -> None:
        """SIGKILL, while the command is running; then the command ends with nobody to record it."""
        pid = self.world.pid
        self.world.kill()
        self.gate.touch()
        self.say(f"In the middle of it the server is killed (SIGKILL, process {pid}). No result was saved.")

    def restart(self) -> dict[str, Any]:
        """Start again and wait until the run is held; return the list of what waits."""
        self.world.start()
        listing = self.client.wait(self._waiting, what="the held run")
        item = listing["items"][0]
        self.run_id = item["run_id"]
        self.say(f"The server starts again, and the run is held: {item['reason']['text']}")
        return listing

    def _waiting(self) -> dict[str, Any] | None:
        listing = self.ask("recovery_list", tab="needs_you")
        return listing if any(item["chat_id"] == self.chat for item in listing["items"]) else None

    def decide(self, choice: str) -> None:
        view = self.run()
        offered = [each for each in view["decisions"] if each["id"] == choice and each["allowed"]]
        if len(offered) != 1:
            raise Broken(f"{choice} is offered {len(offered)} times: {view['decisions']}")
        self.ask(
            "recovery_decide",
            run_id=self.run_id,
            version=view["run"]["version"],
            call_id=offered[0]["call_id"],
            shown_digest=offered[0]["digest"],
            decision=choice,
            note=NOTE,
            ack=True,
            request_id="demo-1",
        )
        self.say(f"A person decides: {choice}.")

    def finish(self) -> dict[str, Any]:
        """Wait for the end of the run; return its view."""
        view = self.client.wait(self._ended, what="the end of the run")
        state = view["run"]["state"]
        if state == "completed":
            self.client.wait_log(self.chat, "response", ANSWER)
            self.say(f"The run goes on where it was, and the chat has its answer: “{ANSWER}”")
        else:
            self.say(f"The run ends as {state}. The chat is free for the next message.")
        return view

    def _ended(self) -> dict[str, Any] | None:
        view = self.run()
        return view if view["run"]["state"] in {"completed", "failed", "stopped"} else None


def check(story: Story, choice: str) -> Tally:
    """Play the story to its end and count. Raises Broken for what a count does not show."""
    story.begin(None)
    story.crash()
    held = story.restart()["counts"]["needs_you"]
    if len(story.effects()) != 1:
        raise Broken(f"{len(story.effects())} effects before anybody decided")
    story.decide(choice)
    view = story.finish()

    decided = view["recorded"][-1]["at"] / 1000
    early = [moment for moment in story.effects()[1:] if moment < decided]
    if early:
        raise Broken(f"an effect started {decided - early[0]:.3f} s before the decision")
    goes_on = view["run"]["state"] == "completed"
    asked = len(story.model.requests("chat"))
    if asked != (2 if goes_on else 1):
        raise Broken(f"the model was asked {asked} times")
    reused = [call for call in view["calls"] if call["status"] == "reused"]
    runs = [item for item in story.ask("recovery_list", tab="all")["items"] if item["chat_id"] == story.chat]
    completed = [item for item in runs if item["state"] == "completed"]
    return Tally(effects=len(story.effects()), reused=len(reused), held=held, completed=len(completed))


def show(story: Story, port: int) -> None:
    """Play up to the hold and stay until somebody ends it."""
    story.begin(port or None)
    story.crash()
    story.restart()
    story.model.script(answer("This small host answers every further message with this sentence."), repeat=True)
    print(f"\nOpen {story.world.url} and choose Recovery. The command's effects are in {story.file}. Ctrl-C ends it.", flush=True)
    while story.world.alive:
        time.sleep(0.5)
    raise Broken(f"the server ended:\n{story.world.output()[-2000:]}")


def main() -> int:
    parser = argparse.ArgumentParser(description="A chat loses its server in the middle of a command, and a person decides.")
    parser.add_argument("--check", action="store_true", help="play the whole story without a person, and compare")
    parser.add_argument("--decision", default="confirmed_completed", choices=list(PROMISED))
    parser.add_argument("--effects", default="", help="file to which the command appends a line for each effect")
    parser.add_argument("--port", type=int, default=0, help="port of the page; any free one by default")
    asked = parser.parse_args()
    for wish in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wish, signal.default_int_handler)  # either way what was started is ended
    with tempfile.TemporaryDirectory(prefix="durable-demo-") as name:
        folder = Path(name)
        effects = Path(asked.effects).absolute() if asked.effects else folder / "effects.txt"
        effects.parent.mkdir(parents=True, exist_ok=True)
        gate = folder / "gate"
        try:
            with Model.start(folder / "model") as model, World(folder / "world", model=model, page=not asked.check) as world:
                story = Story(world, model, effects, gate)
                if not asked.check:
                    show(story, asked.port)
                found, promised = check(story, asked.decision), PROMISED[asked.decision]
        except KeyboardInterrupt:
            print()
            return 0
        except (Broken, TimeoutError, WorldDied) as reason:
            print(f"Not as promised: {reason}", file=sys.stderr)
            return 1
        finally:
            gate.touch()  # a command that still waits for it ends
    if found != promised:
        print(f"Not as promised, which was: {promised}", file=sys.stderr)
    print(found)
    return 0 if found == promised else 1


if __name__ == "__main__":
    sys.exit(main())
