"""The plugin inside a host: the small one that comes with it, and the real one where A0_ROOT and A0_PYTHON name it.

Both answer the same turns bare and with the plugin, in turn about; what the plugin adds is the difference.
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

from .rounds import Plan, Ratio, Series
from .targets import GROWTH_HOST, LOOP_HOLD, REAL_HOST, REAL_TURN, REFHOST, Verdict

WARM_UP = 5
INSIDE = Path(__file__).with_name("inside.py")


class Side:
    """One small host with one chat."""

    def __init__(self, folder: Path, model: Model, *, plugin: bool) -> None:
        self.world = World(folder, model=model, plugin=CHECKOUT if plugin else None)
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


def small_host(plan: Plan, turns: int) -> tuple[list[tuple[float, float]], list[float], list[float]]:
    """Seconds of each turn (with, without), how long the plugin held the loop each time, and each commit's seconds."""
    with Model.start(plan.folder / "model") as model:
        sides = [Side(plan.folder / name, model, plugin=name == "plugin") for name in ("bare", "plugin")]
        try:
            for number in range(WARM_UP + turns):
                for side in sides if number % 2 else reversed(sides):
                    text = f"Turn {number} of {side.chat}"
                    model.script(use("effect", name="e"), answer(f"Done {number}"), when=text)
                    side.turn(text)
        finally:
            for side in sides:
                side.world.kill()
    bare, plugin = (side.seconds[WARM_UP:] for side in sides)
    noted = [json.loads(line) for line in sides[1].holds.read_text().splitlines()]
    holds = [each["hold"] for each in noted if "hold" in each]
    return list(zip(plugin, bare, strict=True)), holds, [each["commit"] for each in noted if "commit" in each]


def measure(plan: Plan, engine: Series | None, *, quick: bool, say: Callable[[str, dict[str, Any]], None]) -> Iterator[Verdict]:
    plan.folder.mkdir(parents=True, exist_ok=True)
    turn = engine.median if engine else None
    pairs, holds, commits = small_host(plan, 15 if quick else 80)
    added = statistics.median(one - other for one, other in pairs)
    held, commit = (sorted(each)[int(len(each) * 0.99)] for each in (holds, commits))
    facts = {"added_ms": added * 1000, "ratio": str(Ratio.of(pairs)), "hold_p99_ms": held * 1000, "commit_p99_ms": commit * 1000}
    say("the small host", facts)
    yield REFHOST.judged(added / turn if turn else None, "the part `turns` did not run")
    yield LOOP_HOLD.judged(held / commit)
    yield from real_host(turn, 20 if quick else 100, say)


def real_host(turn: float | None, turns: int, say: Callable[[str, dict[str, Any]], None]) -> Iterator[Verdict]:
    targets = (REAL_HOST, REAL_TURN, GROWTH_HOST)
    if not (os.environ.get("A0_ROOT") and os.environ.get("A0_PYTHON")):
        for target in targets:
            yield target.judged(None, "A0_ROOT and A0_PYTHON name no Agent Zero")
        return
    from tests.live import cost

    with tempfile.TemporaryDirectory(prefix="bench-host-") as folder:
        bare, plugin = cost.run(turns, Path(folder))
    pairs = list(zip(plugin.seconds[WARM_UP:], bare.seconds[WARM_UP:], strict=True))
    added = statistics.median(one - other for one, other in pairs)
    grown = [after.stored - before.stored for before, after in zip(plugin.sizes, plugin.sizes[1:], strict=False)]
    tenth = len(grown) // 10 or 1
    first, last = (sum(part) / len(part) for part in (grown[tenth : 2 * tenth], grown[-tenth:]))
    say("the real host", {"added_ms": added * 1000, "bytes_a_turn_first": first, "bytes_a_turn_last": last})
    yield REAL_HOST.judged(added / turn if turn else None, "the part `turns` did not run")
    yield REAL_TURN.judged(Ratio.of(pairs))
    yield GROWTH_HOST.judged(last / first if first else None, "the journal did not grow")
