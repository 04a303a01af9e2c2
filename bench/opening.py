"""Opening: a journal of many finished runs against an empty one, cold; and reading many interrupted runs, verified."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from journal import Journal, Masker
from journal.records import CallKey, CallKind, Outcome, Permission, ResumePoint, RunState
from journal.runs import FIRST_TOKEN
from journal.trees import Pack

from .rounds import Plan, Ratio, in_turns
from .work import Texts

_AT_ONCE = 100


def open_journal(folder: Path) -> Journal:
    return Journal.open(folder, masker=Masker(list), boot={})


class Builder:
    """Makes runs by the hundred: what needs no answer of another is waited for together."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._texts, self._made = journal, Texts(), 0

    def runs(self, count: int, calls: int, *, open_calls: int = 0) -> None:
        while count:
            chats = [f"chat{self._made + number}" for number in range(min(_AT_ONCE, count))]
            self._made += len(chats)
            count -= len(chats)
            admitted = [self._journal.admit(chat, "m", self._texts.user(), "A run", {}, self._point()) for chat in chats]
            runs = [each.result().run.run_id for each in admitted]
            for step in range(1, calls + 1):
                steps = [self._begin(run, step) for run in runs]
                for each in [self._journal.finish_call(begun.result().call.call_id, Outcome.OK, self._answer()) for begun in steps]:
                    each.result()
            last: list[Any] = [self._begin(run, calls + number) for number in range(1, open_calls + 1) for run in runs]
            if not open_calls:
                last = [self._journal.close_run(run, FIRST_TOKEN, RunState.COMPLETED, "done", self._point()) for run in runs]
            for each in last:
                each.result()

    def _answer(self) -> dict[str, str]:
        return {"content": self._texts.next()}

    def _point(self) -> ResumePoint:
        pack = Pack(self._journal.masker, set())
        history = [pack.put({"role": "user", "content": self._texts.next()}) for _ in range(3)]
        return ResumePoint(pack.root({"history": pack.list(history)}), pack.nodes, {"A0": 0})

    def _begin(self, run: str, step: int) -> Any:
        return self._journal.begin_call(
            run,
            FIRST_TOKEN,
            0,
            CallKey("A0", step, CallKind.TOOL),
            name="search",
            identity_of=step,
            arguments={"q": "invoice"},
            permission=Permission(),
        )


def forget(folder: Path) -> None:
    """Let the system's cache forget these files, as after a boot."""
    for path in folder.iterdir():
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def _opened(folder: Path) -> float:
    forget(folder)
    started = time.perf_counter()
    journal = open_journal(folder)
    journal.unfinished()
    took = time.perf_counter() - started
    journal.close()
    return took


def finished(plan: Plan, runs: int) -> dict[str, Any]:
    plan.folder.mkdir(parents=True)
    full, empty = plan.folder / "full", plan.folder / "empty"
    journal = open_journal(full)
    Builder(journal).runs(runs, 20)
    journal.close()
    open_journal(empty).close()
    size = sum(path.stat().st_size for path in full.iterdir())
    found = list(in_turns(plan.rounds, {"full": lambda: _opened(full), "empty": lambda: _opened(empty)}))
    middle = {name: sorted(each[name] for each in found)[len(found) // 2] * 1000 for name in ("full", "empty")}
    shutil.rmtree(full)
    return {"ratio": Ratio.of([(each["full"], each["empty"]) for each in found]), "bytes": size, "runs": runs, "ms": middle}


# -- interrupted ----------------------------------------------------------------------------------


def interrupted(plan: Plan, runs: int) -> dict[str, Any]:
    """Reading everything that a recovery needs, verified, against reading and hashing the same rows in raw SQLite."""
    plan.folder.mkdir(parents=True)
    before = open_journal(plan.folder / "journal")
    Builder(before).runs(runs, 3, open_calls=1)
    before.close()
    journal = open_journal(plan.folder / "journal")
    try:
        file = plan.folder / "journal" / "journal.db"
        ways = {
            "journal": lambda: _recovered(journal),
            "raw": lambda: _raw(file),
            "raw, decoded": lambda: _raw(file, decode=True),
            "raw, whole rows, decoded": lambda: _raw(file, decode=True, whole=True),
        }
        found = list(in_turns(plan.rounds, ways))
        started = time.perf_counter()
        listed = len(journal.unfinished())
        first_list = time.perf_counter() - started
    finally:
        journal.close()
    assert listed == runs
    middle = {name: sorted(each[name] for each in found)[len(found) // 2] * 1000 for name in ways}

    def ratio(above: str, below: str) -> Ratio:
        return Ratio.of([(each[above], each[below]) for each in found])

    return {
        "ratio": ratio("journal", "raw"),
        "to raw that is decoded": ratio("journal", "raw, decoded"),
        "to raw of whole rows, decoded": ratio("journal", "raw, whole rows, decoded"),
        "raw of whole rows, decoded, to raw": ratio("raw, whole rows, decoded", "raw"),
        "runs": runs,
        "ms": middle,
        "list_ms": first_list * 1000,
    }


def _recovered(journal: Journal) -> float:
    started = time.perf_counter()
    with journal.reading():
        for run in journal.unfinished():
            journal.classify(run.run_id, lambda call: call.permission)
            journal.calls(run.run_id)
            point = journal.resume_point(run.run_id)
            point.tree.values(point.tree.list(point.tree.value(point.root)["history"]))
    return time.perf_counter() - started


def _raw(file: Path, *, decode: bool = False, whole: bool = False) -> float:
    """The same rows by hand. With `decode` also as the values that a recovery needs, by the standard JSON module. With `whole`
    all columns of runs, calls and checkpoints, which is what a recovery decides by: less than this nobody can read.
    """
    reader = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    started = time.perf_counter()
    for run_id, message, root, *_ in reader.execute(
        f"select r.run_id, b.body, c.body {', r.*, c.*' if whole else ''} from runs r join blobs b on b.digest = r.input_digest"
        " join checkpoints c on c.run_id = r.run_id and c.seq = r.checkpoint_seq where r.state in ('queued', 'running', 'held')"
    ).fetchall():
        for body in (message, root, *_bodies(reader, run_id, whole), *_nodes(reader, root)):
            hashlib.sha256(body).hexdigest()
            if decode and not body.startswith(b"L"):
                json.loads(body)
    took = time.perf_counter() - started
    reader.close()
    return took


def _bodies(reader: sqlite3.Connection, run_id: str, whole: bool) -> Iterator[bytes]:
    rows = reader.execute(
        f"select a.body, v.body {', c.*' if whole else ''} from calls c join blobs a on a.digest = c.arguments_digest"
        " left join blobs v on v.digest = c.value_digest where c.run_id = ?",
        (run_id,),
    )
    return (body for row in rows for body in row[:2] if body is not None)


def _nodes(reader: sqlite3.Connection, root: bytes) -> Iterator[bytes]:
    def node(digest: str) -> bytes:
        body: bytes = reader.execute("select body from blobs where digest = ?", (digest,)).fetchone()[0]
        return body

    part = node(root.decode().split('"')[3])
    yield part
    for at in range(2, len(part), 32):
        yield node(part[at : at + 32].hex())
