"""Interleaved runs: every variant has its own folder and process, and in each round they take their turns in shuffled order.

So that what else the machine does hits all alike, a ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

TOP = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Ratio:
    """How many times dearer one variant is than another: the median over rounds, and the rounds' quartiles."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> Ratio:
        ratios = sorted(one / other for one, other in pairs if other > 0)
        return cls(statistics.median(ratios), ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4])

    def __str__(self) -> str:
        return f"{self.value:.2f} x [{self.low:.2f}-{self.high:.2f}]"


@dataclass
class Series:
    """What one variant took: the median turn of each round, every turn, and the CPU time a turn."""

    rounds: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, answer: dict[str, Any]) -> None:
        self.rounds.append(statistics.median(answer["seconds"]))
        self.turns += answer["seconds"]
        self.cpu.append(answer["cpu"] / len(answer["seconds"]))

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    def over(self, other: Series) -> Ratio:
        return Ratio.of(list(zip(self.rounds, other.rounds, strict=True)))

    def summary(self) -> dict[str, float]:
        ordered = sorted(self.turns)
        return {
            "median_ms": round(self.median * 1000, 3),
            "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1000, 3),
            "cpu_ms": round(statistics.median(self.cpu) * 1000, 3),
            "turns": len(self.turns),
        }


class Worker:
    """A variant's process. Raises RuntimeError with the end of its output if it cannot start."""

    def __init__(self, name: str, folder: Path, python: str) -> None:
        folder.mkdir(parents=True)
        self.log = folder / "output"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [python, "-m", "bench.worker", name, str(folder)],
                cwd=TOP,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        if self._line() != "ready":
            self.close()
            raise RuntimeError(self.log.read_text(errors="replace").strip()[-300:] or "It ended.")

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, turns: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{turns}\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line())
        return answer

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True)
class Plan:
    """How much is run: so many runs with fresh folders, so many rounds in each, so many turns in a round."""

    folder: Path
    runs: int
    rounds: int
    turns: int
    peers: str | None = None

    def interleave(self, names: Sequence[str], *, peers: Sequence[str] = (), before: int = 20) -> tuple[dict[str, Series], dict[str, str]]:
        """Every variant's series, and of those that could not run the reason. `before`: turns that do not count."""
        series: dict[str, Series] = {}
        missing = dict.fromkeys(peers, "run with PEERS=1") if self.peers is None else {}
        wanted = [*names, *(() if self.peers is None else peers)]
        for number in range(self.runs):
            with contextlib.ExitStack() as stack:
                workers: dict[str, Worker] = {}
                for at, name in enumerate(wanted):
                    if name in missing:
                        continue
                    python = (self.peers or "") if name in peers else sys.executable
                    try:
                        workers[name] = stack.enter_context(Worker(name, self.folder / f"run{number}" / str(at), python))
                        workers[name].run(before)
                    except (RuntimeError, json.JSONDecodeError) as error:
                        missing[name] = f"it does not run here: {str(error).splitlines()[-1]}"
                        series.pop(name, None)
                        workers.pop(name, None)
                for _ in range(self.rounds):
                    for name in random.sample(list(workers), len(workers)):
                        series.setdefault(name, Series()).add(workers[name].run(self.turns))
        return series, missing


def in_turns(rounds: int, doings: dict[str, Callable[[], float]]) -> Iterator[dict[str, float]]:
    """The same inside this process: each doing says how many seconds it took; one dict a round."""
    for _ in range(rounds):
        yield {name: doings[name]() for name in random.sample(list(doings), len(doings))}
