"""Run inside the host's process before it starts: notes each named point that is passed, and kills at one of them.

`POINT=<name>:<n>` is the passage at which the process kills itself with SIGKILL, counted from 1; `POINT_MARK` is a file
that then says so. `POINT_TRACE` is a file that gets one line per passage. The product has no switch for any of this:
its functions are wrapped here, by the names that stand in `catalogue.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import importlib.util
import inspect
import json
import os
import signal
import sqlite3
import stat
import sys
import threading
import weakref
from collections import Counter
from pathlib import Path

_spec = importlib.util.spec_from_file_location("points_catalogue", Path(__file__).with_name("catalogue.py"))
catalogue = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = catalogue
_spec.loader.exec_module(catalogue)

_target, _, _nth = os.environ.get("POINT", "").rpartition(":")
_mark = os.environ.get("POINT_MARK", "")
_trace = os.open(os.environ["POINT_TRACE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if os.environ.get("POINT_TRACE") else None
_counts: Counter[str] = Counter()
_lock = threading.Lock()
_here = threading.local()  # .door: the door that is being asked; .tags: the doors in the transaction of this thread
_batch = [0]  # number of the last batch that is in the file
_really_write, _really_sync = os.write, os.fsync
MERGE_PAGES = 40  # so small that the log is merged within a turn

PLUGIN = catalogue.PLUGIN


def is_due(name: str) -> bool:
    """Count one passage; whether it is the one to die at."""
    if name not in catalogue.POINTS:
        name = f"unknown {name}"
    with _lock:
        _counts[name] += 1
        count = _counts[name]
    if _trace is not None:
        _really_write(_trace, f"{name}:{count}\n".encode())
    return name == _target and count == int(_nth)


def die(name: str) -> None:
    if _mark:
        file = os.open(_mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        _really_write(file, json.dumps({"point": name, "batch": _batch[0]}).encode())
        _really_sync(file)
    os.kill(os.getpid(), signal.SIGKILL)


def passed(name: str) -> None:
    if is_due(name):
        die(name)


# -- the doors of the journal -------------------------------------------------------------------


class Spy(sqlite3.Connection):
    """Sees the transactions of the store, whatever its own functions are called."""

    tags: list[str]

    def execute(self, sql, *values):
        if sql == "COMMIT":
            return self._commit()
        if sql.startswith("PRAGMA wal_checkpoint"):
            passed("merge.begun")
            done = super().execute(sql, *values)
            passed("merge.done")
            return done
        done = super().execute(sql, *values)
        if sql == "BEGIN IMMEDIATE":
            self.tags = _here.tags = []
            self._note_batch()
        elif sql.startswith("INSERT INTO schema_versions"):
            self.tags.append("migrate")
        return done

    def _commit(self):
        for tag in self.tags:
            passed(f"{tag}.written")
        done = super().execute("COMMIT")
        self._note_batch()
        for tag in self.tags:
            passed(f"{tag}.committed")
        return done

    def _note_batch(self) -> None:
        """Before the first operation of a transaction, and after its COMMIT: what the file says."""
        with contextlib.suppress(sqlite3.OperationalError):  # a journal that is being made has no table yet
            row = super().execute("SELECT number FROM batches").fetchone()
            _batch[0] = row["number"] if isinstance(row, dict) else row[0]


def tagged(operation, door):
    @functools.wraps(operation)
    def run(transaction):
        answer = operation(transaction)
        _here.tags.append(door)
        return answer

    return run


def wrap_submit(store) -> None:
    submit = store.submit

    def submitting(self, operation, **how):
        return submit(self, tagged(operation, getattr(_here, "door", None) or "unknown"), **how)

    store.submit = submitting


_kinds: dict[str, str] = {}


def named(door: str, args: tuple, kwargs: dict) -> str:
    if door == "begin_call":
        key = kwargs["key"] if "key" in kwargs else args[3]
        return f"{door}.{key.kind.value}"
    if door == "finish_call":
        return f"{door}.{_kinds.get(kwargs.get('call_id') or args[0], 'tool')}"
    if door == "decide":
        decision = kwargs["decision"] if "decision" in kwargs else args[0]
        return f"{door}.{decision.choice.value}"
    return door


def wrap_door(journal, door: str) -> None:
    written = inspect.getattr_static(journal, door)
    original = written.__func__ if isinstance(written, classmethod) else written

    @functools.wraps(original)
    def asked(self, *args, **kwargs):
        name = named(door, args, kwargs)
        passed(f"{name}.asked")
        before, _here.door = getattr(_here, "door", None), name
        try:
            answer = original(self, *args, **kwargs)
        finally:
            _here.door = before
        if is_due(f"{name}.answered"):
            if hasattr(answer, "exception"):
                answer.exception(20)
            die(f"{name}.answered")
        if door == "begin_call":
            answer.add_done_callback(lambda done: remember(done, name.rpartition(".")[2]))
        return answer

    setattr(journal, door, classmethod(asked) if isinstance(written, classmethod) else asked)


def remember(done, kind: str) -> None:
    if not done.cancelled() and done.exception() is None and hasattr(done.result(), "call"):
        _kinds[done.result().call.call_id] = kind


# -- functions of the product -------------------------------------------------------------------


def owner_of(module: str, function: str):
    found = importlib.import_module(f"{PLUGIN}.{module}")
    *path, name = function.split(".")
    for part in path:
        found = getattr(found, part)
    return found, name


def wrap_functions() -> None:
    places: dict[tuple[str, str], dict[str, str]] = {}
    for wrap in catalogue.WRAPS:
        places.setdefault((wrap.module, wrap.function), {})[wrap.side] = wrap.name
    for (module, function), sides in places.items():
        owner, name = owner_of(module, function)
        setattr(owner, name, around(getattr(owner, name), sides.get(catalogue.BEFORE), sides.get(catalogue.AFTER)))


def around(function, before: str | None, after: str | None):
    def enter() -> None:
        if before:
            passed(before)

    def leave() -> None:
        if after:
            passed(after)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapped(*args, **kwargs):
            enter()
            answer = await function(*args, **kwargs)
            leave()
            return answer
    else:

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            enter()
            answer = function(*args, **kwargs)
            leave()
            return answer

    return wrapped


# -- what has no function of its own ------------------------------------------------------------


def spy_on_swaps(undo) -> None:
    def swapping(owner, name, value):
        swap = sys._getframe(1).f_code.co_name in ("swap", "shadow")
        if swap:
            passed("adapter.noted")
        setattr(owner, name, value)
        passed("adapter.swapped" if swap else "adapter.restored")

    def uncovering(owner, name):
        delattr(owner, name)
        passed("adapter.restored")

    undo.setattr, undo.delattr = swapping, uncovering


def spy_on_syncs() -> None:
    def spying(sync):
        def syncing(file):
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if not caller.startswith(f"{PLUGIN}."):
                return sync(file)
            kind = "folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file"
            passed(f"sync.{kind}.asked")
            sync(file)
            passed(f"sync.{kind}.done")

        return syncing

    os.fsync, os.fdatasync = spying(os.fsync), spying(os.fdatasync)


def spy_on_effects() -> None:
    moments = {b"start": ("starting", "started"), b"end": ("ending", "ended")}

    def writing(file, data):
        around_it = moments.get(bytes(data[:6]).partition(b" ")[0]) if bytes(data).endswith(f" {os.getpid()}\n".encode()) else None
        kind = "delivery" if b" reply:" in bytes(data[:20]) else "tool"
        if around_it:
            passed(f"effect.{kind}.{around_it[0]}")
        count = _really_write(file, data)
        if around_it:
            passed(f"effect.{kind}.{around_it[1]}")
        return count

    os.write = writing


def spy_on_the_model() -> None:
    """The host's stream to the chat model; requests of its background work are left alone."""
    write, drain, readline = asyncio.StreamWriter.write, asyncio.StreamWriter.drain, asyncio.StreamReader.readline
    asking: weakref.WeakSet = weakref.WeakSet()  # tasks that sent a request and have not had a word yet

    def writing(self, data):
        if data.startswith(b"POST ") and b'"model": "other/chat"' in data:
            passed("effect.model.asking")
            asking.add(asyncio.current_task())
            write(self, data)
            self._is_question = True
        else:
            write(self, data)

    async def draining(self):
        await drain(self)
        if getattr(self, "_is_question", False):
            passed("effect.model.asked")

    async def reading(self):
        line = await readline(self)
        if line.startswith(b"data: ") and asyncio.current_task() in asking:
            asking.discard(asyncio.current_task())
            passed("effect.model.answering")
        return line

    asyncio.StreamWriter.write, asyncio.StreamWriter.drain, asyncio.StreamReader.readline = writing, draining, reading


def install() -> None:
    service, sqlite, writer, undo = (
        importlib.import_module(f"{PLUGIN}.{name}")
        for name in ("journal.service", "journal.store.sqlite", "journal.store.writer", "bridge.undo")
    )
    really_connect = sqlite3.connect
    sqlite3.connect = lambda *args, **kwargs: really_connect(*args, **{"factory": Spy, **kwargs})
    if not hasattr(writer, "MERGE_PAGES"):
        raise AttributeError("The store has no MERGE_PAGES any more: make the log be merged within a turn in another way.")
    writer.MERGE_PAGES = MERGE_PAGES
    wrap_submit(sqlite.SqliteStore)
    for door in sorted({door.partition(".")[0] for door in catalogue.DOORS}):
        wrap_door(service.Journal, door)
    wrap_functions()
    spy_on_swaps(undo)
    spy_on_syncs()
    spy_on_effects()
    spy_on_the_model()


install()
