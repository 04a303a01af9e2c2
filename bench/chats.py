"""Many chats at once on one event loop: the journal's writer against one commit per operation on the loop.

The operation is the same on both sides, an intent and its result. On the loop each of them waits where it stands.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from journal.arrivals import answer_of
from journal.records import CallKey, CallKind, Outcome, Permission
from journal.runs import FIRST_TOKEN

from .engine import Engine, begun
from .floor import INSERT, connect
from .rounds import Plan, Ratio
from .work import Texts, dumps

Wait = Callable[[Future[Any]], Any]


class Crowd:
    """So many chats that work as fast as they can; counts operations, and how late the loop is."""

    def __init__(self, folder: Path, chats: int) -> None:
        self._engine = Engine(folder)
        self._texts = Texts()
        self._runs = []
        self._step = 0
        for number in range(chats):
            message = self._texts.user()
            point = self._engine.point(message, 0)
            self._runs.append(self._engine.journal.admit(f"chat{number}", "m", message, "t", {}, point).result().run.run_id)
        self._raw_folder = folder / "raw"
        self._raw_folder.mkdir()
        self._raw = connect(self._raw_folder)

    def close(self) -> None:
        self._engine.close()
        self._raw.close()

    async def grouped(self, run: str) -> int:
        await answer_of(self._result(await answer_of(self._intent(run))))
        return 2

    async def one_by_one(self, run: str) -> int:
        self._result(self._intent(run).result()).result()
        await asyncio.sleep(0)
        return 2

    async def raw(self, run: str) -> int:
        for kind in (1, 2):
            self._raw.execute(INSERT, (1, 1, kind, dumps({"content": self._texts.next()})))
        await asyncio.sleep(0)
        return 2

    def _intent(self, run: str) -> Future[Any]:
        self._step += 1
        return self._engine.journal.begin_call(
            run,
            FIRST_TOKEN,
            0,
            CallKey("A0", self._step, CallKind.TOOL),
            name="search",
            identity_of=self._step,
            arguments={"q": "invoice"},
            permission=Permission(),
        )

    def _result(self, step: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(step)
        return self._engine.journal.finish_call(begun(done).call_id, Outcome.OK, {"content": self._texts.next()})

    def seconds(self, way: Callable[[str], Any], seconds: float) -> tuple[float, float]:
        """Operations a second, and the 99th percentile of the loop's lateness."""
        return asyncio.run(self._work(way, seconds))

    async def _work(self, way: Callable[[str], Any], seconds: float) -> tuple[float, float]:
        end = time.perf_counter() + seconds
        done, late = 0, [0.0]

        async def tick() -> None:
            while time.perf_counter() < end:
                before = time.perf_counter()
                await asyncio.sleep(0.001)
                late.append(time.perf_counter() - before - 0.001)

        async def chat(run: str) -> None:
            nonlocal done
            while time.perf_counter() < end:
                worked = await way(run)  # apart: `done +=` would read `done` before it waits
                done += worked

        await asyncio.gather(tick(), *(chat(run) for run in self._runs))
        return done / seconds, sorted(late)[int(len(late) * 0.99)]


def measure(plan: Plan, chats: int, seconds: float) -> dict[str, Any]:
    folder = plan.folder / str(chats)
    folder.mkdir(parents=True)
    crowd = Crowd(folder, chats)
    ways = {"grouped": crowd.grouped, "one by one": crowd.one_by_one, "raw": crowd.raw}
    rounds: list[dict[str, tuple[float, float]]] = []
    try:
        for _ in range(plan.rounds):
            rounds.append({name: crowd.seconds(ways[name], seconds) for name in random.sample(list(ways), len(ways))})
    finally:
        crowd.close()
    middle = len(rounds) // 2
    return {
        "commits": Ratio.of([(each["grouped"][0], each["one by one"][0]) for each in rounds]),
        "over_raw": Ratio.of([(each["grouped"][0], each["raw"][0]) for each in rounds]),
        "late": Ratio.of([(each["grouped"][1], each["one by one"][1]) for each in rounds]),
        "a_second": {name: round(sorted(each[name][0] for each in rounds)[middle]) for name in ways},
        "late_ms": {name: round(sorted(each[name][1] for each in rounds)[middle] * 1000, 2) for name in ways},
    }
