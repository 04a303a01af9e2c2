"""Many chats at once on one event loop: the journal's writer against one commit per operation on the loop.

The operation is the same on both sides, an intent and its result. On the loop each of them waits where it stands.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from journal.arrivals import answer_of
from journal.records import CallKey, CallKind, Outcome, Permission
from journal.runs import FIRST_TOKEN

from .engine import Engine, begun
from .floor import INSERT, connect
from .least import Least, Run
from .rounds import Plan, Ratio
from .work import Texts, dumps

type Part = Callable[[Run], None]


class LeastCrowd(Least):
    """The same operation with nothing but the promises, and with as little between the loop and the writer's thread as can be."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 9, thread=True)
        self._places = count(4)
        self._waiting: list[tuple[Part, asyncio.Future[None]]] = []
        self._is_busy = False

    async def grouped(self, chat: int) -> int:
        place = next(self._places)
        await self._shared(chat, partial(self._intent, place))
        await self._shared(chat, partial(self._result, place, self._body({"content": self._texts.next()})))
        return 2

    async def one_by_one(self, chat: int) -> int:
        place = next(self._places)
        self._write(self._of(chat, partial(self._intent, place)))
        self._write(self._of(chat, partial(self._result, place, self._body({"content": self._texts.next()}))))
        await asyncio.sleep(0)
        return 2

    def _of(self, chat: int, part: Part) -> Part:
        def work(run: Run) -> None:
            self._run = chat
            part(run)

        return work

    def _shared(self, chat: int, part: Part) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] = loop.create_future()
        self._waiting.append((self._of(chat, part), answer))
        loop.call_soon(self._share, loop)
        return answer

    def _share(self, loop: asyncio.AbstractEventLoop) -> None:
        """What waits becomes one commit, when the last one is answered. On the loop."""
        assert self._thread is not None
        if self._waiting and not self._is_busy:
            self._is_busy = True
            taken, self._waiting = self._waiting, []
            done = self._thread.submit(self._commit, [part for part, _ in taken])
            done.add_done_callback(lambda _: loop.call_soon_threadsafe(self._answer, loop, [answer for _, answer in taken]))

    def _answer(self, loop: asyncio.AbstractEventLoop, waiting: list[asyncio.Future[None]]) -> None:
        self._is_busy = False
        for each in waiting:
            if not each.done():
                each.set_result(None)
        loop.call_soon(self._share, loop)


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
        self.chats = list(range(chats))
        least_folder = folder / "least"
        least_folder.mkdir()
        self.least = LeastCrowd(least_folder)
        self._raw_folder = folder / "raw"
        self._raw_folder.mkdir()
        self._raw = connect(self._raw_folder)

    def close(self) -> None:
        self._engine.close()
        self.least.close()
        self._raw.close()

    async def grouped(self, chat: int) -> int:
        run = self._runs[chat]
        await answer_of(self._result(await answer_of(self._intent(run))))
        return 2

    async def one_by_one(self, chat: int) -> int:
        run = self._runs[chat]
        self._result(self._intent(run).result()).result()
        await asyncio.sleep(0)
        return 2

    async def raw(self, chat: int) -> int:
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

    def seconds(self, way: Callable[[int], Any], seconds: float) -> tuple[float, float]:
        """Operations a second, and the 99th percentile of the loop's lateness."""
        return asyncio.run(self._work(way, seconds))

    async def _work(self, way: Callable[[int], Any], seconds: float) -> tuple[float, float]:
        end = time.perf_counter() + seconds
        done, late = 0, [0.0]

        async def tick() -> None:
            while time.perf_counter() < end:
                before = time.perf_counter()
                await asyncio.sleep(0.001)
                late.append(time.perf_counter() - before - 0.001)

        async def work(chat: int) -> None:
            nonlocal done
            while time.perf_counter() < end:
                worked = await way(chat)  # apart: `done +=` would read `done` before it waits
                done += worked

        await asyncio.gather(tick(), *map(work, self.chats))
        return done / seconds, sorted(late)[int(len(late) * 0.99)]


def measure(plan: Plan, chats: int, seconds: float) -> dict[str, Any]:
    folder = plan.folder / str(chats)
    folder.mkdir(parents=True)
    crowd = Crowd(folder, chats)
    least = {"least": crowd.least.grouped, "least, one by one": crowd.least.one_by_one}
    ways = {"grouped": crowd.grouped, "one by one": crowd.one_by_one, "raw": crowd.raw, **least}
    rounds: list[dict[str, tuple[float, float]]] = []
    try:
        for _ in range(plan.rounds):
            rounds.append({name: crowd.seconds(ways[name], seconds) for name in random.sample(list(ways), len(ways))})
    finally:
        crowd.close()
    middle = len(rounds) // 2
    return {
        "commits": Ratio.of([(each["grouped"][0], each["one by one"][0]) for each in rounds]),
        "least, commits": Ratio.of([(each["least"][0], each["least, one by one"][0]) for each in rounds]),
        "over_raw": Ratio.of([(each["grouped"][0], each["raw"][0]) for each in rounds]),
        "late": Ratio.of([(each["grouped"][1], each["one by one"][1]) for each in rounds]),
        "a_second": {name: round(sorted(each[name][0] for each in rounds)[middle]) for name in ways},
        "late_ms": {name: round(sorted(each[name][1] for each in rounds)[middle] * 1000, 2) for name in ways},
    }
