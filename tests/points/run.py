"""`make crash`: traces every story, kills at every passage, then at every pair, and says what came of it.

Cases are played by a few processes of their own. What passed is written to `cache/crash.jsonl` of the environment, so that a run that was
broken off can be resumed.
"""

from __future__ import annotations

import json
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.points import plan
from tests.points.catalogue import POINTS
from tests.points.play import Case
from tests.points.stories import RICHEST, STORIES

CHECKOUT = Path(__file__).resolve().parents[2]
KEPT = Path(sys.prefix) / "cache" / "crash.jsonl"  # beside the environment: the checkout may be read-only
TELL_EVERY = 25

Answer = dict[str, Any]


class Crew:
    """Worker processes, each with a server and a model of its own."""

    def __init__(self, size: int) -> None:
        self.size = size

    def play(self, cases: Iterable[Case]) -> Iterator[Answer]:
        """Play cases in any order; answers come as they are ready."""
        todo: queue.SimpleQueue[Case | None] = queue.SimpleQueue()
        answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        for case in cases:
            todo.put(case)
        workers = [threading.Thread(target=self._drive, args=(todo, answers), daemon=True) for _ in range(self.size)]
        for worker in workers:
            todo.put(None)
            worker.start()
        left = self.size
        while left:
            answer = answers.get()
            if answer is None:
                left -= 1
            else:
                yield answer

    def _drive(self, todo: queue.SimpleQueue[Case | None], answers: queue.SimpleQueue[Answer | None]) -> None:
        worker = _Worker()
        while (case := todo.get()) is not None:
            answer = worker.play(case)
            if answer is None:
                worker.close()
                worker, answer = _Worker(), {"case": case.name, "ok": False, "why": "The worker ended."}
            answers.put(answer)
        worker.close()
        answers.put(None)


class _Worker:
    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.points", "work"]
        self._process = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def play(self, case: Case) -> Answer | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(case.name + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            return None
        return dict(json.loads(line)) if line else None

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Tally:
    """What passed and what failed, told as it happens."""

    def __init__(self, known: dict[str, Answer]) -> None:
        self.passed: dict[str, Answer] = dict(known)
        self.failed: dict[str, str] = {}
        self.elsewhere: set[str] = set()  # pairs whose recovery did not take place in this run, and that show it
        self._began = time.monotonic()

    def run(self, what: str, crew: Crew, cases: list[Case]) -> None:
        todo = [case for case in cases if case.name not in self.passed]
        print(f"{what}: {len(cases)} cases, {len(cases) - len(todo)} known to pass", flush=True)
        for count, answer in enumerate(crew.play(todo), 1):
            self._note(answer)
            if count % TELL_EVERY == 0 or count == len(todo):
                spent = time.monotonic() - self._began
                print(f"  {what} {count} of {len(todo)}, {len(self.failed)} failed, {spent / 60:.1f} min", flush=True)

    def _note(self, answer: Answer) -> None:
        if answer["ok"]:
            self.passed[answer["case"]] = answer
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps(answer) + "\n")
            return
        if self._is_elsewhere(answer):
            self.elsewhere.add(answer["case"])
            return
        self.failed[answer["case"]] = answer["why"]
        name = "PAIR" if answer["case"].count("/") > 1 else "POINT"
        print(f"\nFAILED {answer['case']}\n{answer['why']}\nAgain: make crash {name}='{answer['case']}'\n", flush=True)

    def _is_elsewhere(self, answer: Answer) -> bool:
        case = Case.of(answer["case"])
        single = self.passed.get(Case(case.story, case.kills[:1]).name, {})
        return len(case.kills) > 1 and plan.is_elsewhere(next(iter(single.get("shapes", [])), None), answer.get("unpassed", []))


def crash(point: str, pair: str, workers: int, *, resume: bool) -> int:
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    known = _known() if resume else {}
    if not resume and not (point or pair):
        KEPT.unlink(missing_ok=True)
    tally, crew = Tally(known), Crew(workers)
    whole = point if "/" in point else pair if "/" in pair else ""
    if whole:
        tally.run("case", crew, [Case.of(whole.rstrip("/"))])
        print("0 failed" if not tally.failed else f"{len(tally.failed)} failed")
        return 1 if tally.failed else 0

    tally.run("stories", crew, [Case(name) for name in STORIES])
    traced = {name: tally.passed[name]["traces"][0] for name in STORIES if name in tally.passed}
    singles = [case for name, trace in traced.items() for case in plan.singles(STORIES[name], trace)]
    chosen = [case for case in singles if not pair or case.story == RICHEST]
    chosen = [case for case in chosen if case.kills[0].startswith(point)]
    chosen.sort(key=lambda case: case.story != RICHEST)  # its recoveries say which pairs there are
    tally.run("points", crew, chosen)
    pairs = [] if point else _pairs(tally, pair)
    if pairs:
        tally.run("pairs", crew, pairs)
    return _verdict(tally, chosen, pairs, is_whole=not (point or pair))


def _pairs(tally: Tally, begins: str) -> list[Case]:
    """The life after each single kill of the richest story says which recovery points can follow it."""
    recoveries = {}
    for name, answer in tally.passed.items():
        case = Case.of(name)
        if case.story == RICHEST and len(case.kills) == 1 and len(answer["traces"]) > 1:
            recoveries[case.kills[0]] = answer["traces"][1]
    wanted = "" if begins == "all" else begins
    found = [case for case in plan.pairs(recoveries) if any(kill.startswith(wanted) for kill in case.kills)]
    random.Random(0).shuffle(found)  # a run that is broken off has seen a bit of everything
    return found


def _verdict(tally: Tally, singles: list[Case], pairs: list[Case], *, is_whole: bool) -> int:
    strange = {name for answer in tally.passed.values() for name in answer["strange"]}
    good = [case for case in (*singles, *pairs) if case.name in tally.passed]
    bad = {
        plan.name_of(kill)
        for case in (*singles, *pairs)
        if case.name not in tally.passed and case.name not in tally.elsewhere
        for kill in case.kills
    }
    followed = {plan.name_of(case.kills[-1]) for case in pairs if case.name in tally.passed}
    alone = sorted(name for name in tally.elsewhere if plan.name_of(Case.of(name).kills[-1]) not in followed)
    wanted = list(POINTS) if is_whole else sorted({plan.name_of(kill) for case in (*singles, *pairs) for kill in case.kills})
    without = [name for name in wanted if name in plan.uncovered(good)]
    held = [name for name in wanted if name not in bad and name not in without]
    for name in without:
        print(f"no passing case kills at {name}: {POINTS[name].meaning}")
    for name in sorted(strange):
        print(f"passed and not in the catalogue: {name}")
    for name in tally.failed:
        print(f"failed: {name}")
    for name in sorted(tally.elsewhere):
        print(f"not reachable in this run, its first kill left another record each time: {name}")
    for name in alone:
        print(f"and no other pair kills there: {name}")
    passing = sum(case.name in tally.passed for case in pairs)
    away = len(tally.elsewhere)
    single = sum(case.name in tally.passed for case in singles)
    print(f"{single} of {len(singles)} single kills in {len(STORIES)} stories")
    print(f"{len(held)} of {len(wanted)} points, {passing} of {len(pairs)} pairs{f', {away} not reachable in this run' * bool(away)}")
    whole = len(held) == len(wanted) and passing + away == len(pairs) and not (tally.failed or strange or alone)
    return 0 if whole and (pairs or not is_whole) else 1


def _known() -> dict[str, Answer]:
    if not KEPT.exists():
        return {}
    answers = (json.loads(line) for line in KEPT.read_text("utf-8").splitlines() if line.endswith("}"))
    return {answer["case"]: answer for answer in answers}
