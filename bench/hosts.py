"""The plugin inside a host: the small one that comes with it, and the real one where A0_ROOT and A0_PYTHON name it.

Both answer the same turns bare, with the same hooks and nothing behind them, and with the plugin, in turn about. What the plugin
adds is the difference to the bare one; the hooks tell how much of it is what the host takes for calling any.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from refhost.client import Client
from refhost.model import Model, answer, use
from refhost.world import CHECKOUT, World

from . import stubs
from .rounds import Plan, Ratio, Series
from .targets import GROWTH_HOST, LOOP_HOLD, REAL_HOST, REAL_TURN, REFHOST, Verdict

WARM_UP = 5
NAMES = ("bare", "hooks", "plugin")
INSIDE = Path(__file__).with_name("inside.py")


class Side:
    """One small host with one chat."""

    def __init__(self, folder: Path, model: Model, name: str) -> None:
        plugin = name == "plugin"
        self.world = World(folder, model=model, plugin=CHECKOUT if plugin else None)
        if name == "hooks":
            self.world.add_plugin(stubs.NAME, stubs.files())
        self.holds = folder / "holds.jsonl"
        inject = {"inject": INSIDE, "env": {"BENCH_HOLDS": str(self.holds)}} if plugin else {}
        self.client: Client = self.world.start(**inject).client()  # type: ignore[arg-type]
        self.chat = self.client.create_chat()
        self.seconds: list[float] = []

    def turn(self, text: str) -> None:
        started = time.perf_counter()
        self.client.say(self.chat, text)
        self.seconds.append(time.perf_counter() - started)
        self.client.wait_idle(self.chat)


def small_host(plan: Plan, turns: int) -> tuple[list[list[float]], list[float], list[float]]:
    """Seconds of each turn (bare, hooks, plugin), how long the plugin held the loop each time, and each commit's seconds."""
    with Model.start(plan.folder / "model") as model:
        sides = [Side(plan.folder / name, model, name) for name in NAMES]
        try:
            for number in range(WARM_UP + turns):
                for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
                    text = f"Turn {number} of {side.chat}"
                    model.script(use("effect", name="e"), answer(f"Done {number}"), when=text)
                    side.turn(text)
        finally:
            for side in sides:
                side.world.kill()
    noted = [json.loads(line) for line in sides[-1].holds.read_text().splitlines()]
    holds = [each["hold"] for each in noted if "hold" in each]
    return [side.seconds[WARM_UP:] for side in sides], holds, [each["commit"] for each in noted if "commit" in each]


def measure(plan: Plan, engine: Series | None, *, quick: bool, say: Callable[[str, dict[str, Any]], None]) -> Iterator[Verdict]:
    plan.folder.mkdir(parents=True, exist_ok=True)
    turn = engine.median if engine else None
    (bare, hooks, plugin), holds, commits = small_host(plan, 15 if quick else 80)
    added = difference(plugin, bare)
    held, commit = (sorted(each)[int(len(each) * 0.99)] for each in (holds, commits))
    facts = {
        "added_ms": added * 1000,
        "of_it_hooks_ms": difference(hooks, bare) * 1000,
        "ratio": str(Ratio.of(list(zip(plugin, bare, strict=True)))),
        "hold_p99_ms": held * 1000,
        "commit_p99_ms": commit * 1000,
    }
    say("the small host", facts)
    yield REFHOST.judged(*_beside(turn, added, difference(hooks, bare)))
    yield LOOP_HOLD.judged(held / commit)
    yield from real_host(turn, 20 if quick else 100, say)


def _beside(turn: float | None, added: float, hooks: float) -> tuple[float | None, str, float | None]:
    """What was added, in turns of the engine; the least is the engine's turn and what the host takes for calling any hook."""
    return (added / turn, "", 1 + max(0.0, hooks) / turn) if turn else (None, "the part `turns` did not run", None)


def difference(one: list[float], other: list[float]) -> float:
    return statistics.median(mine - its for mine, its in zip(one, other, strict=True))


def real_host(turn: float | None, turns: int, say: Callable[[str, dict[str, Any]], None]) -> Iterator[Verdict]:
    targets = (REAL_HOST, REAL_TURN, GROWTH_HOST)
    if not (os.environ.get("A0_ROOT") and os.environ.get("A0_PYTHON")):
        for target in targets:
            yield target.judged(None, "A0_ROOT and A0_PYTHON name no Agent Zero")
        return
    from tests.live import cost

    with tempfile.TemporaryDirectory(prefix="bench-host-") as folder:
        bare, hooks, plugin = cost.run(turns, Path(folder))
    added = plugin.added_to(bare)
    grown = [after.stored - before.stored for before, after in zip(plugin.sizes, plugin.sizes[1:], strict=False)]
    tenth = len(grown) // 10 or 1
    first, last = (sum(part) / len(part) for part in (grown[tenth : 2 * tenth], grown[-tenth:]))
    facts = {
        "added_ms": added * 1000,
        "of_it_hooks_ms": hooks.added_to(bare) * 1000,
        "processor_ms": (plugin.processor_a_turn - bare.processor_a_turn) * 1000,
        "of_it_hooks_processor_ms": (hooks.processor_a_turn - bare.processor_a_turn) * 1000,
        "bytes_a_turn_first": first,
        "bytes_a_turn_last": last,
    }
    say("the real host", facts)
    yield REAL_HOST.judged(*_beside(turn, added, hooks.added_to(bare)))
    yield REAL_TURN.judged(Ratio.of(list(zip(plugin.measured, bare.measured, strict=True))))
    yield GROWTH_HOST.judged(last / first if first else None, "the journal did not grow")
