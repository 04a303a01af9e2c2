"""The least that the promises ask of SQLite: a store that does nothing else, written by hand.

Every text is searched for secrets once and digested once. A change leaves an event; a body is kept once, by its digest; a
call has one place, a run one fence, a resume point one row; the file says how far it has come. Numbers are integers and
digests bytes; there are no references, rules, views, decisions, other kinds of call, no API. What the engine
costs beyond this could be saved; this could not.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from journal import Masker
from journal.store.bodies import LARGE
from journal.store.writer import MERGE_PAGES

from . import floor
from .engine import SECRETS
from .work import Texts, dumps

TABLES = """
create table batches (one integer primary key, number integer not null);
create table chats (chat integer primary key, changed_at integer not null);
create table runs (run integer primary key, chat integer not null, message blob not null, state integer not null, token integer not null);
create unique index one_run_per_message on runs (chat, message);
create table bodies (id integer primary key, digest blob not null unique, body blob not null);
create table events (run integer not null, seq integer not null, at integer not null, kind integer not null, call integer,
                     primary key (run, seq)) without rowid;
create table calls (run integer not null, place integer not null, name text not null, arguments blob not null, started_at integer not null,
                    outcome integer, value blob, ended_at integer, primary key (run, place)) without rowid;
create table points (run integer not null, seq integer not null, root blob not null, body blob not null,
                     primary key (run, seq)) without rowid;
insert into batches values (1, 0);
insert into chats values (1, 0);
"""
EVENT = "insert into events values (?, ?, ?, ?, ?)"
BODY = "insert into bodies (digest, body) values (?, ?) on conflict (digest) do nothing"
POINT = "insert into points values (?, ?, ?, ?)"
INTENT = "insert into calls values (?, ?, ?, ?, ?, null, null, null)"
RESULT = "update calls set outcome = 1, value = ?, ended_at = ? where run = ? and place = ? and outcome is null"
FENCE = "select state, token from runs where run = ?"
_PAGES_A_COMMIT = 9

type Body = tuple[bytes, bytes]
type Run = Callable[..., sqlite3.Cursor]


class Least:
    def __init__(self, folder: Path, commits: int, *, thread: bool = False, big: int = 0) -> None:
        self.distinct = 0
        self._thread = ThreadPoolExecutor(1) if thread else None
        self._folder = folder
        self._connection = floor.connect(folder)
        self._connection.executescript(TABLES)
        self._masker = Masker(lambda: SECRETS)
        self._together = commits == 5
        self._texts = Texts(big)
        self._run = self._seq = self._since_merge = 0

    def turn(self) -> None:
        self._run += 1
        user = self._body(self._texts.user())
        self._write(partial(self._admit, user), *([partial(self._intent, 0)] if self._together else []))
        for place, _, message in self._texts.answers():
            if not self._together:
                self._write(partial(self._intent, place))
            done = [partial(self._result, place, self._body(message))]
            if self._together and place < 3:
                done.append(partial(self._intent, place + 1))
            self._write(*done)

    def _body(self, message: dict[str, Any]) -> Body:
        self.distinct += len(message["content"])
        if len(message["content"]) > LARGE:
            return self._beside(dumps(message).encode())
        data = dumps(self._masker.mask(message, names=False).value).encode()
        return hashlib.sha256(data).digest(), data

    def _beside(self, data: bytes) -> Body:
        """What is too large for a record: its secrets are looked for as they are alone, in no other form, and it is written once."""
        assert not any(secret.value.encode() in data for secret in SECRETS)
        digest = hashlib.sha256(data).digest()
        floor.write_and_sync(self._folder / digest.hex(), data)
        return digest, b""

    def _admit(self, user: Body, run: Run) -> None:
        run("insert into runs values (?, 1, ?, 1, 1)", (self._run, user[0]))
        run("update chats set changed_at = ? where chat = 1", (self._seq,))
        run(BODY, user)
        self._event(run, 1)
        self._point(user[0], run)

    def _intent(self, place: int, run: Run) -> None:
        arguments = dumps({"q": "invoice"}).encode()
        run(FENCE, (self._run,)).fetchone()
        run(BODY, (hashlib.sha256(arguments).digest(), arguments))
        run(INTENT, (self._run, place, "search", hashlib.sha256(arguments).digest(), self._seq))
        self._event(run, 2, place)

    def _result(self, place: int, body: Body, run: Run) -> None:
        run(FENCE, (self._run,)).fetchone()
        run(BODY, body)
        run(RESULT, (body[0], self._seq, self._run, place))
        self._event(run, 3, place)
        self._point(body[0], run)
        if place == 3:
            run("update runs set state = 2 where run = ?", (self._run,))
            self._event(run, 5)

    def _point(self, message: bytes, run: Run) -> None:
        self._event(run, 4)
        root = dumps({"history": message.hex(), "step": self._seq}).encode()
        run(POINT, (self._run, self._seq, hashlib.sha256(root).digest(), root))

    def _event(self, run: Run, kind: int, call: int | None = None) -> None:
        self._seq += 1
        run(EVENT, (self._run, self._seq, self._seq, kind, call))

    def _write(self, *parts: Callable[[Run], None]) -> None:
        if self._thread is None:
            self._commit(parts)
        else:
            self._thread.submit(self._commit, parts).result()

    def _commit(self, parts: Iterable[Callable[[Run], None]]) -> None:
        run = self._connection.execute
        run("begin immediate")
        for part in parts:
            part(run)
        run("update batches set number = number + 1 where one = 1")
        run("commit")
        self._since_merge += _PAGES_A_COMMIT
        if self._since_merge >= MERGE_PAGES:
            run("pragma wal_checkpoint(passive)").fetchone()
            self._since_merge = 0

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
        self._connection.close()

    def size(self) -> int:
        pages, size = (int(self._connection.execute(f"pragma {name}").fetchone()[0]) for name in ("page_count", "page_size"))
        free = int(self._connection.execute("pragma freelist_count").fetchone()[0])
        return (pages - free) * size


VARIANTS: dict[str, Callable[[Path], Callable[[], None]]] = {
    "least, 5 commits": lambda folder: Least(folder, 5).turn,
    "least, 9 commits": lambda folder: Least(folder, 9).turn,
    "least, 5 commits, writer thread": lambda folder: Least(folder, 5, thread=True).turn,
    "least, 9 commits, writer thread": lambda folder: Least(folder, 9, thread=True).turn,
    "least, one answer of 5 MB": lambda folder: Least(folder, 5, thread=True, big=5_000_000).turn,
}
