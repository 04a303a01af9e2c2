"""A tool output of 5 MB: its result's commit against a bare write and sync of the same bytes."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

from journal.records import Outcome

from .engine import Engine, begun
from .rounds import Plan, Ratio, in_turns
from .work import text

SIZE = 5_000_000


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
        file = os.open(self._folder / f"{self._count}", os.O_CREAT | os.O_WRONLY, 0o600)
        os.write(file, data)
        os.fdatasync(file)
        os.close(file)
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


def masking(run: InRun, output: Output) -> float:
    """Looking for secrets in that much text, and nothing else."""
    value = {"message": output.next()}
    started = time.perf_counter()
    run.engine.journal.masker.mask(value)
    return time.perf_counter() - started


def measure(plan: Plan) -> dict[str, Any]:
    for name in ("bare", "run"):
        (plan.folder / name).mkdir(parents=True)
    output = Output()
    bare, run = Bare(plan.folder / "bare", output), InRun(plan.folder / "run", output)
    try:
        ways = {"bare": bare.seconds, "journal": run.seconds, "masking": lambda: masking(run, output)}
        found = list(in_turns(plan.rounds + 3, ways))[3:]
    finally:
        run.engine.close()
    return {
        "ratio": Ratio.of([(each["journal"], each["bare"]) for each in found]),
        "ratio of masking alone": Ratio.of([(each["masking"], each["bare"]) for each in found]),
        "ms": {name: sorted(each[name] for each in found)[len(found) // 2] * 1000 for name in ways},
    }
