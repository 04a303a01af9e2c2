"""Where a run stands: for each of its agents the path that it works at, its step, its tool call, what it said last.

A run covers the chat's first agent and the subordinates that work for it, each under a path of its own
(`bridge/agents.py`: `A0`, `A0.3:1`, `A0.3:1.2:0`). A job that runs beside its parent is a run of its own, in a chat of
its own, where the paths begin at `A0` again. Nothing here reads the journal or waits: it counts, and names what comes next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..journal.records import CallKey, CallKind
from . import agents


@dataclass(slots=True)
class OpenTool:
    """The tool call that an agent is in, from its intent to the host's append."""

    tool: Any
    executing: bool = True
    progress: str = ""  # what the history says of a step that a message interrupted
    response: Any = None  # set once the result is saved and not yet in the history


@dataclass(slots=True)
class Position:
    """Moved by whoever has the run: who takes it on, then the coroutine that works on it. Threads that take messages in read `paths`."""

    paths: dict[int, str] = field(default_factory=lambda: agents.entered_at(0))  # by agent number; replaced, never changed
    steps: dict[str, int] = field(default_factory=dict)  # how many model calls were begun, by path
    tools: dict[str, int] = field(default_factory=dict)  # how many tool calls since then, by path
    asked: dict[str, int] = field(default_factory=dict)  # how many calls the last answer asks for, by path
    open_tools: dict[int, OpenTool] = field(default_factory=dict)  # by agent number
    last_said: dict[int, str] = field(default_factory=dict)  # by agent number, for the host's look at repetitions

    # -- who works where --------------------------------------------------------

    def path_of(self, agent: Any) -> str | None:
        """Where this agent works in this run; None for one that is no part of it, like a helper that a tool made."""
        path = self.paths.get(agent.number)
        return path if path is not None and agent in agents.of_chat(agent.context) else None

    def deepest(self, ctx: Any) -> Any:
        """The agent at work: those above wait for it."""
        return next((each for each in agents.of_chat(ctx) if each.number == max(self.paths)), ctx.agent0)

    def is_divided(self, agent: Any) -> bool:
        """Somebody above is in the middle of an answer that asks for several calls.

        Where an answer goes up to an agent whose coroutine is gone, the host does not make the calls that come after
        it. So such a run goes on from before that answer, and no resume point lies inside it.
        """
        return any(self.asked.get(path, 0) > 1 for number, path in self.paths.items() if number < agent.number)

    # -- how far they came ------------------------------------------------------

    def reached(self) -> dict[str, int]:
        """The step of each agent, as a resume point keeps it."""
        return {path: self.step_of(path) for path in self.paths.values()}

    def step_of(self, path: str) -> int:
        return self.steps.get(path, 0)

    def is_unrecorded(self, path: str) -> bool:
        """The step that this path is in has no recorded answer of the model: it went by without us."""
        return self.step_of(path) > 0 and path not in self.asked

    def next_model_key(self, path: str) -> CallKey:
        return CallKey(path, self.step_of(path) + 1, CallKind.MODEL, 0)

    def next_tool_key(self, path: str) -> CallKey:
        return CallKey(path, self.step_of(path), CallKind.TOOL, self.tools.get(path, 0))

    # -- moves ------------------------------------------------------------------

    def begin_model_call(self, path: str) -> CallKey:
        """The key of the agent's next model call: the step only grows and comes back with the checkpoint."""
        key = self.next_model_key(path)
        self.steps[path] = key.step
        self.tools[path] = 0
        self.asked.pop(path, None)
        return key

    def begin_tool_call(self, path: str) -> CallKey:
        """The key of the agent's next tool call since its last model call."""
        key = self.next_tool_key(path)
        self.tools[path] = key.ordinal + 1
        return key

    def descend(self, key: CallKey) -> None:
        """This call makes a subordinate work: its steps are counted from the start, also when the call runs again."""
        self.ascend(agents.number_of(key.path))
        path = agents.below(key)
        self.steps[path] = 0
        self.paths = {**self.paths, agents.number_of(path): path}

    def ascend(self, number: int) -> None:
        """The agent of this number is the one at work again."""
        gone = {each: path for each, path in self.paths.items() if each > number}
        self.paths = {each: path for each, path in self.paths.items() if each <= number}
        for each, path in gone.items():
            for counts in (self.steps, self.tools, self.asked):
                counts.pop(path, None)
            self.open_tools.pop(each, None)
            self.last_said.pop(each, None)

    def stand_at(self, reached: Mapping[str, int], paths: Mapping[int, str]) -> None:
        """The chat was made anew from a resume point: its agents stand where they stood there, whatever came after it."""
        self.steps, self.tools, self.asked, self.paths = dict(reached), {}, {}, dict(paths)
        self.open_tools, self.last_said = {}, {}

    def stand_at_start(self) -> None:
        """What has no resume point is done from its first step again: its calls stand at the places that they had."""
        self.steps, self.tools, self.asked, self.paths = {}, {}, {}, agents.entered_at(0)
