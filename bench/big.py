"""A tool output of 5 MB: its result's commit against a bare write and sync of the same bytes.

What no commit can do without is measured on its own: looking for secrets in that much text, in every form, and, as the
least that any search costs, for their values as they are.
"""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from journal.finding import Finder
from journal.records import Outcome

from .engine import Engine, begun
from .floor import write_and_sync
from .rounds import Plan, Ratio, in_turns
from .work import text

SIZE = 5_000_000
SECRETS = (5, 30)


class Output:
    """5 MB that are new each time."""

    def __init__(self) -> None:
        self._text = text(SIZE, random.Random(1))
        self._count = 0

    def next(self) -> str:
        self._count += 1
        at = self._count * 997 % SIZE
        return f"{self._count} {self._text[at:]}{self._text[:at]}"


class Bare:
    def __init__(self, folder: Path, output: Output) -> None:
        self._folder, self._output, self._count = folder, output, 0

    def seconds(self) -> float:
        data = self._output.next().encode()
        self._count += 1
        started = time.perf_counter()
        write_and_sync(self._folder / f"{self._count}", data)
        took = time.perf_counter() - started
        (self._folder / f"{self._count}").unlink()
        return took


class InRun:
    """One long run whose every tool call puts out 5 MB."""

    def __init__(self, folder: Path, output: Output) -> None:
        self.engine, self._output = Engine(folder), output
        self._run = self.engine.journal.name_run()
        self.engine.admit(self._run)[1].result()
        self._step = 0

    def seconds(self) -> float:
        self._step += 1
        call = begun(self.engine.begin(self._run, 1, step=self._step))
        value = {"message": self._output.next()}
        started = time.perf_counter()
        self.engine.journal.finish_call(call.call_id, Outcome.OK, value).result()
        return time.perf_counter() - started


class Searches:
    """For so many keys of common sizes, none of which is there; it is timed without anything that is kept between two texts."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def ways(self) -> dict[str, Callable[[], float]]:
        found: dict[str, Callable[[], float]] = {}
        for count in SECRETS:
            chance = random.Random(count)
            keys = ["".join(chance.choices(string.ascii_letters + string.digits, k=chance.choice((16, 24, 32, 40)))) for _ in range(count)]
            found[f"{count} secrets, every form"] = partial(self._seconds, Finder(keys).find)
            found[f"{count} secrets, as they are"] = partial(self._seconds, partial(as_they_are, [key.encode() for key in keys]))
        return found

    def _seconds(self, search: Callable[[bytes], object]) -> float:
        data = self._output.next().encode()
        started = time.perf_counter()
        search(data)
        return time.perf_counter() - started


def as_they_are(keys: list[bytes], data: bytes) -> list[bool]:
    return [key in data for key in keys]


def measure(plan: Plan) -> dict[str, Any]:
    for name in ("bare", "run"):
        (plan.folder / name).mkdir(parents=True)
    output = Output()
    bare, run = Bare(plan.folder / "bare", output), InRun(plan.folder / "run", output)
    try:
        searches = Searches(output).ways()
        ways = {"bare": bare.seconds, "journal": run.seconds, **searches}
        found = list(in_turns(plan.rounds + 3, ways))[3:]
    finally:
        run.engine.close()
    return {
        "ratio": Ratio.of([(each["journal"], each["bare"]) for each in found]),
        "ratio of a search alone": {name: Ratio.of([(each[name], each["bare"]) for each in found]) for name in searches},
        "ms": {name: sorted(each[name] for each in found)[len(found) // 2] * 1000 for name in ways},
    }
