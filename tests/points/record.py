"""The journal's files as a process left them: read in a copy, so that looking changes nothing.

What must be held after a death is worked out here from the records and the table in docs/architecture.md, by other
means than the product's: it is the second opinion that every case is measured against.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journal import codec
from journal.masking import Masker
from journal.service import Journal

MOST_ENDS = 3
TAKEN_UP = ("recovery_begun", "run_claimed")
IDLE = ("wait", "parallel")
PUT_DOWN = ("recovery_ended", "run_queued", "run_held", "run_released")


@dataclass(frozen=True)
class Record:
    """What the journal said at one moment."""

    batch: int
    runs: list[dict[str, Any]]
    calls: list[dict[str, Any]]  # steps alone: what is asked beside them has no fixed place and holds nothing
    allowed: dict[str, int]  # attempts that persons allowed, by call
    events: list[dict[str, Any]]
    points: dict[str, int]  # resume points, by run
    waiting: list[str]  # messages that were not delivered

    def must_be_held_for(self) -> str | None:
        """Why the next life must hold the unfinished run, or None if it must go on or there is none."""
        for run in self.runs:
            if run["state"] == "held":
                return str(run["hold_reason"])
            if run["state"] not in ("running", "queued"):
                continue
            if self.ends(run["run_id"]) >= MOST_ENDS:
                return "crash_loop"
            mode = codec.decode(run["mode"])
            if mode["on_restart"] == "off":
                return None  # it ends
            for call in self.calls:
                if call["kind"] == "utility":
                    continue  # background inference holds nothing: cut off it is dropped
                if call["run_id"] == run["run_id"] and call["outcome"] is None and not call["allowance"] and not call["policy"]:
                    reason = "model_interrupted" if call["kind"] == "model" else "outcome_unknown"
                    if not _is_settled(call, mode):
                        return reason
        return None

    def ends(self, run_id: str) -> int:
        """How many processes ended with this run in hand, this one among them, since it last made progress or a person released it.

        In hand: while its chat is loaded, and from its claim until a step begins that was not begun before.
        """
        ends, in_hand, looped, held = 0, "", False, False
        waits = {call["call_id"] for call in self.calls if call["policy"] in IDLE}
        for event in (event for event in self.events if event["run_id"] == run_id):
            kind, process, facts = event["kind"], event["boot_id"], event["facts"] or b""
            if in_hand and process != in_hand:
                ends, in_hand = ends + 1, ""
            idle = event["call_id"] in waits  # it only lets time pass: a run that is there is no suspect
            progressed = kind == "call_begun" or (kind == "call_begun_again" and (b"allowed" in facts or idle))
            if kind in TAKEN_UP:
                in_hand = process
            elif kind in PUT_DOWN or progressed:
                in_hand = ""
            if kind == "run_held":
                ends, looped, held = 0, b"crash_loop" in facts, True
            elif kind == "run_released":
                ends, held = MOST_ENDS - 1 if looped else 0, False
            elif progressed or (kind == "recovery_ended" and held):
                ends = 0
        return ends + bool(in_hand)

    def miscounted(self) -> list[str]:
        """Unfinished runs in which the count of ends is another one than their history tells."""
        unfinished = [run for run in self.runs if run["state"] in ("queued", "running", "held")]
        counts = [(run["recoveries"], self.ends(run["run_id"])) for run in unfinished]
        return [f"{counted} ends are counted, and {happened} happened" for counted, happened in counts if counted != happened]

    def shape(self) -> str:
        """What a recovery goes by. Writes beside each other fall into one commit or two, and a kill finds the one or the other."""
        runs = [(run["state"], run["hold_reason"], run["recoveries"], self.points.get(run["run_id"], 0)) for run in self.runs]
        calls = [(call["kind"], call["outcome"], call["attempts"]) for call in self.calls]
        return json.dumps([runs, calls, len(self.waiting)])

    def requests(self) -> tuple[int, int]:
        """How many requests the model must have had at least, and may have had at most."""
        asked = [call for call in self.calls if call["kind"] == "model"]
        return sum(call["outcome"] == "ok" for call in asked), sum(call["attempts"] for call in asked)

    def beyond_allowed(self) -> list[dict[str, Any]]:
        """Calls that began more often than once and once for each permission."""
        return [c for c in self.calls if not c["policy"] and c["attempts"] > 1 + self.allowed.get(c["call_id"], 0)]


def _is_settled(call: dict[str, Any], mode: dict[str, str]) -> bool:
    """What the run's mode says about a step without result, so that nobody is asked."""
    if call["kind"] == "model":
        return mode["interrupted_model_call"] == "retry" and call["attempts"] == 1
    return mode["interrupted_tool_call"] == "report" and call["kind"] == "tool" and call["attempts"] > 0


@contextmanager
def copied(folder: Path) -> Iterator[Path | None]:
    """The journal's files in a place of their own; None where there is no journal."""
    if not (folder / "journal.db").exists():
        yield None
        return
    with tempfile.TemporaryDirectory() as place:
        for name in ("journal.db", "journal.db-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, Path(place, name))
        if (folder / "blobs").exists():
            shutil.copytree(folder / "blobs", Path(place, "blobs"))
        yield Path(place)


def look(folder: Path) -> Record:
    with copied(folder) as place:
        if place is None:
            return Record(0, [], [], {}, [], {}, [])
        with closing(sqlite3.connect(place / "journal.db")) as journal:
            journal.row_factory = lambda cursor, row: {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
            allowed: dict[str, int] = {}
            for row in journal.execute("SELECT call_id, attempts FROM grants").fetchall():
                allowed[row["call_id"]] = allowed.get(row["call_id"], 0) + row["attempts"]
            again = "SELECT call_id FROM decisions WHERE choice IN ('new_attempt', 'confirmed_not_completed')"
            for row in journal.execute(again).fetchall():
                allowed[row["call_id"]] = allowed.get(row["call_id"], 0) + 1
            return Record(
                journal.execute("SELECT number FROM batches").fetchone()["number"],
                journal.execute("SELECT * FROM runs ORDER BY created_at").fetchall(),
                journal.execute("SELECT * FROM calls WHERE kind <> 'utility' ORDER BY seq").fetchall(),
                allowed,
                journal.execute("SELECT * FROM events ORDER BY seq").fetchall(),
                {row["run_id"]: row["n"] for row in journal.execute("SELECT run_id, count(*) AS n FROM checkpoints GROUP BY run_id")},
                [row["input_id"] for row in journal.execute("SELECT input_id FROM inputs WHERE state = 'waiting'")],
            )


def verify(folder: Path) -> None:
    """The file is sound, every stored body is what its digest says, and every record and resume point can be read."""
    with copied(folder) as place:
        assert place is not None
        with closing(sqlite3.connect(place / "journal.db")) as journal:
            assert journal.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert journal.execute("PRAGMA foreign_key_check").fetchall() == []
            for digest, body in journal.execute("SELECT digest, body FROM blobs"):
                assert hashlib.sha256(body).hexdigest() == digest
            ids = [row[0] for row in journal.execute("SELECT run_id FROM runs")]
            jobs = {row[0] for row in journal.execute("SELECT run_id FROM runs WHERE parent_call_id IS NOT NULL AND checkpoint_seq = 0")}
        opened = Journal.open(place, masker=Masker(list), boot={})
        try:
            for run_id in ids:
                assert not opened.run(run_id).damaged
                opened.calls(run_id)
                opened.inputs(run_id)
                if run_id not in jobs:  # these have no chat of their own
                    opened.resume_point(run_id)
            assert [fault for progress in opened.verify() for fault in progress.faults] == []
        finally:
            opened.close()
