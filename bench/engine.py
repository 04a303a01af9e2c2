"""The engine alone, in both its ways of committing a turn, with everything that it does: masks, digests, nodes, fences, events."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from journal import Journal, Masker
from journal.ids import Digest
from journal.masking import Secret
from journal.records import Call, CallKey, CallKind, Outcome, Permission, Proceed, ResumePoint, Run, RunState, Step
from journal.runs import FIRST_TOKEN
from journal.store.sqlite import SqliteStore
from journal.trees import Growing, Pack

from .work import STEPS, Texts

SECRETS = [Secret(f"KEY_{number}", f"secret-value-{number:04d}") for number in range(5)]


class Engine:
    """One chat that goes on turn by turn. `distinct` counts the bytes that were handed in, each text once."""

    def __init__(self, folder: Path, *, big: int = 0, inline: bool = False) -> None:
        self.journal = Journal.open(folder / "journal", masker=Masker(lambda: SECRETS), boot={})
        if inline:
            in_own_thread(self.journal)
        self.distinct = 0
        self._texts = Texts(big)
        self._known: set[Digest] = set()
        self._history = Growing()
        self._turns = 0

    def close(self) -> None:
        self.journal.close()

    def point(self, message: dict[str, Any], step: int) -> ResumePoint:
        pack = Pack(self.journal.masker, self._known)
        root = pack.root({"history": self._history.extend(pack, [pack.put(message)])})
        return ResumePoint(root, pack.nodes, {"A0": step})

    def stored(self, point: ResumePoint) -> None:
        self._known.update(point.nodes)

    def admit(self, run_id: str) -> tuple[ResumePoint, Future[Any]]:
        self._turns += 1
        message = self._texts.user()
        point = self.point(message, 0)
        self._count(message)
        return point, self.journal.admit("chat", f"m{self._turns}", message, "A turn", {}, point, run_id=run_id)

    def begin(self, run_id: str, place: int, *, step: int = 0) -> Future[Step]:
        kind = CallKind.MODEL if STEPS[place] == "model" else CallKind.TOOL
        return self.journal.begin_call(
            run_id,
            FIRST_TOKEN,
            0,
            CallKey("A0", step or place // 2 + 1, kind),
            name="search",
            identity_of=[run_id, place, step],
            arguments={"q": "invoice"},
            permission=Permission(),
        )

    def end(self, run_id: str, point: ResumePoint) -> Future[Any]:
        return self.journal.close_run(run_id, FIRST_TOKEN, RunState.COMPLETED, "done", point)

    def _count(self, message: dict[str, Any]) -> None:
        self.distinct += len(message["content"])

    # -- the two ways ---------------------------------------------------------------------------

    def turn_of_5(self) -> None:
        """N+1: a result, its checkpoint and the next intent are one commit; the first intent is one with the message."""
        run_id = self.journal.name_run()
        with self.journal.together():
            point, _ = self.admit(run_id)
            step = self.begin(run_id, 0)
        call = begun(step)
        self.stored(point)
        for place, _, message in self._texts.answers():
            with self.journal.together():
                self.journal.finish_call(call.call_id, Outcome.OK, message)
                point = self.point(message, place // 2 + 1)
                last = place == len(STEPS) - 1
                if not last:
                    self.journal.checkpoint(run_id, FIRST_TOKEN, point, [])
                done = self.end(run_id, point) if last else self.begin(run_id, place + 1)
            if last:
                done.result()
            else:
                call = begun(done)
            self.stored(point)
            self._count(message)

    def turn_of_9(self) -> None:
        """As inside a host, whose own code runs between a result and the next intent. The checkpoint rides with the intent."""
        point, admitted = self.admit(self.journal.name_run())
        run: Run = admitted.result().run
        self.stored(point)
        for place, _, message in self._texts.answers():
            if place == 0:
                call = begun(self.begin(run.run_id, place))
            last = place == len(STEPS) - 1
            if last:
                with self.journal.together():
                    self.journal.finish_call(call.call_id, Outcome.OK, message)
                    point = self.point(message, place // 2 + 1)
                    done = self.end(run.run_id, point)
                done.result()
            else:
                self.journal.finish_call(call.call_id, Outcome.OK, message).result()
                point = self.point(message, place // 2 + 1)
                with self.journal.together():
                    self.journal.checkpoint(run.run_id, run.token, point, [])
                    step = self.begin(run.run_id, place + 1)
                call = begun(step)
            self.stored(point)
            self._count(message)


def begun(step: Future[Step]) -> Call:
    answer = step.result()
    assert isinstance(answer, Proceed)
    return answer.call


def in_own_thread(journal: Journal) -> None:
    """Commit where the caller stands: no such journal exists, it shows what the writer's thread costs and what the engine."""
    store = journal._store
    assert isinstance(store, SqliteStore)

    writer, resting = store._writer, threading.Event()

    def rest() -> None:
        resting.set()
        writer._closing.wait()

    def put(jobs: list[Any]) -> None:
        writer._jobs.extend(jobs)
        writer._commit(writer._gather())
        writer._merge()

    writer._wait = rest  # type: ignore[method-assign]  # the thread that waits must not touch what this one uses
    writer._bell.put(None)
    resting.wait()
    writer.put = put  # type: ignore[method-assign]


def ways(folder: Path, way: str) -> Callable[[], None]:
    engine = Engine(folder)
    return engine.turn_of_5 if way == "5" else engine.turn_of_9


VARIANTS: dict[str, Callable[[Path], Callable[[], None]]] = {
    "engine, 5 commits": lambda folder: ways(folder, "5"),
    "engine, 9 commits": lambda folder: ways(folder, "9"),
    "engine, 5 commits, in the caller's thread": lambda folder: Engine(folder, inline=True).turn_of_5,
    "engine, one answer of 5 MB": lambda folder: Engine(folder, big=5_000_000).turn_of_5,
}
