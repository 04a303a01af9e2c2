"""Whether a turn of a long chat costs what a turn of a short one costs, in time and in bytes."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from .engine import Engine
from .least import Least
from .rounds import Plan, Ratio, in_turns

SHORT, LONG = 100, 1000


class Chat:
    """One chat of the engine, grown to so many turns."""

    def __init__(self, folder: Path, turns: int) -> None:
        self.engine = Engine(folder)
        self._file = folder / "journal" / "journal.db"
        for _ in range(turns):
            self.engine.turn_of_5()

    def seconds(self, turns: int = 10) -> float:
        started = time.perf_counter()
        for _ in range(turns):
            self.engine.turn_of_5()
        return (time.perf_counter() - started) / turns

    def size(self) -> int:
        """Bytes in the database's pages, the write-ahead log's included."""
        with sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True) as reader:
            pages, size = (reader.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "page_size"))
        reader.close()
        return int(pages * size)


def measure(plan: Plan, *, long: int) -> dict[str, Any]:
    (plan.folder / "short").mkdir(parents=True)
    (plan.folder / "long").mkdir()
    short = Chat(plan.folder / "short", SHORT)
    grown = Chat(plan.folder / "long", long)
    try:
        empty = 300_000
        sizes = {name: (chat.size(), chat.engine.distinct) for name, chat in (("short", short), ("long", grown))}
        pairs = [(found["long"], found["short"]) for found in in_turns(plan.rounds, {"short": short.seconds, "long": grown.seconds})]
        bytes_a_turn = {}
        for name, chat in (("short", short), ("long", grown)):
            bytes_a_turn[name] = (chat.size() - sizes[name][0]) / (plan.rounds * 10)
        stored, distinct = sizes["long"]
        return {
            "time": Ratio.of(pairs),
            "bytes": bytes_a_turn["long"] / bytes_a_turn["short"],
            "bytes_a_turn": bytes_a_turn,
            "stored_over_distinct": (stored - min(empty, stored)) / distinct,
            "least_over_distinct": _least(plan.folder / "least", long),
            "turns": long,
        }
    finally:
        short.engine.close()
        grown.engine.close()


def _least(folder: Path, turns: int) -> float:
    """The same chat in the least that the promises ask, in bytes for each byte of text."""
    folder.mkdir()
    least = Least(folder, 5)
    for _ in range(turns):
        least.turn()
    return least.size() / least.distinct
