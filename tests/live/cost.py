"""What the plugin costs a turn on the real host: `python -m tests.live.cost`.

Three private hosts, one bare, one with the same hooks and nothing behind them, one with the plugin, answer the same
plain turns by turns, with a model that answers at once. Prints medians and ratios of this machine; it judges nothing.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import struct
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench import stubs

from .client import Client
from .conftest import NEEDS, missing
from .host import LiveHost, make_seed
from .model import ScriptedModel, say

WARM_UP = 5
NAMES = ("bare", "hooks", "plugin")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Journal:
    """How large the journal is at one moment. Read from outside, without a lock."""

    stored: int  # bytes in the database's pages
    written: int  # bytes in the write-ahead log's frames
    commits: int  # frames that end a transaction
    events: int


@dataclass
class Side:
    name: str
    host: LiveHost
    client: Client
    chat: str = ""
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)  # what the server has used until the end of each turn
    sizes: list[Journal] = field(default_factory=list)

    def turn(self, number: int) -> None:
        started = time.perf_counter()
        self.client.ask(self.chat, f"Plain turn {number}")
        self.seconds.append(time.perf_counter() - started)
        self.client.wait_idle(self.chat)
        self.processor.append(used_by(self.host.pid))

    @property
    def measured(self) -> list[float]:
        return self.seconds[WARM_UP:]

    @property
    def processor_a_turn(self) -> float:
        """It counts in hundredths of a second, so only the whole is worth something."""
        return (self.processor[-1] - self.processor[WARM_UP - 1]) / len(self.measured)

    def added_to(self, other: Side) -> float:
        """Seconds a turn, as the median of the differences of turns that ran one after the other."""
        return statistics.median(mine - its for mine, its in zip(self.measured, other.measured, strict=True))


def used_by(pid: int) -> float:
    """Processor time of a process so far, in seconds."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS


def read_journal(path: Path) -> Journal | None:
    """Sizes of the journal's files, or None while there is no journal."""
    if not path.exists():
        return None
    with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as journal:
        pages = journal.execute("pragma page_count").fetchone()[0]
        size = journal.execute("pragma page_size").fetchone()[0]
        events = journal.execute("select (select count(*) from events) + (select count(*) from notices)").fetchone()[0]
    journal.close()
    frames = commit_frames(path.with_name(path.name + "-wal"))
    return Journal(pages * size, sum(frames.values()) * (size + 24), frames[True], events)


def commit_frames(wal: Path) -> dict[bool, int]:
    """Frames of a write-ahead log that belong to its present round: those that commit, and the others."""
    found = {True: 0, False: 0}
    raw = wal.read_bytes() if wal.exists() else b""
    if len(raw) < 32:
        return found
    size = struct.unpack(">I", raw[8:12])[0]
    salt = raw[16:24]
    for start in range(32, len(raw) - 24 - size + 1, 24 + size):
        if raw[start + 8 : start + 16] != salt:
            break
        found[struct.unpack(">I", raw[start + 4 : start + 8])[0] != 0] += 1
    return found


def run(turns: int, folder: Path) -> tuple[Side, Side, Side]:
    """The bare side, the one with empty hooks and the one with the plugin, after so many turns each."""
    python = Path(os.environ["A0_PYTHON"])
    seed = make_seed(Path(os.environ["A0_ROOT"]), python, folder / "seed")
    model = ScriptedModel(keep=False)
    model.default = lambda asked: say(f"Answer {asked.number}")
    sides = []
    try:
        for name in NAMES:
            host = LiveHost(folder / name, seed=seed, python=python, model_url=model.url)
            sides.append(Side(name, host, Client(host)))
            if name == "plugin":
                host.put_plugin(enabled=True)
            if name == "hooks":
                put_hooks(host)
            host.start()
        for side in sides:
            side.chat = side.client.new_chat()
        for number in range(WARM_UP + turns):
            for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
                side.turn(number)
                journal = read_journal(side.host.journal)
                if journal:
                    side.sizes.append(journal)
    finally:
        for side in sides:
            side.host.close()
        model.close()
    bare, hooks, plugin = sides
    return bare, hooks, plugin


def put_hooks(host: LiveHost) -> None:
    """Lay the plugin whose hooks are empty."""
    for name, text in {**stubs.files(), ".toggle-1": ""}.items():
        path = host.plugin.with_name(stubs.NAME) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def report(bare: Side, hooks: Side, plugin: Side) -> None:
    without, with_plugin = (statistics.median(side.measured) for side in (bare, plugin))
    print(f"turns            {len(bare.measured)}")
    print(f"without, median  {without * 1000:8.1f} ms")
    print(f"with, median     {with_plugin * 1000:8.1f} ms")
    for word, side in (("added", plugin), ("by empty hooks", hooks)):
        processor = side.processor_a_turn - bare.processor_a_turn
        print(f"{word:16} {side.added_to(bare) * 1000:8.1f} ms   of the processor {processor * 1000:8.1f} ms")
    print(f"ratio            {with_plugin / without:8.3f}")
    if len(plugin.sizes) < 2:
        print("no journal was written: the plugin recorded nothing")
        return
    first, last = plugin.sizes[0], plugin.sizes[-1]
    turns = len(plugin.sizes) - 1
    print(f"stored a turn    {(last.stored - first.stored) / turns:8.0f} bytes")
    print(f"events a turn    {(last.events - first.events) / turns:8.1f}")
    grown = [(a.commits, b.commits, b.written - a.written) for a, b in zip(plugin.sizes, plugin.sizes[1:], strict=False)]
    steady = [(after - before, bytes_) for before, after, bytes_ in grown if after > before]
    if steady:  # turns in which the log did not start a new round
        print(f"commits a turn   {statistics.median(count for count, _ in steady):8.1f}")
        print(f"log bytes a turn {statistics.median(size for _, size in steady):8.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description="What the plugin costs a plain turn.")
    parser.add_argument("--turns", type=int, default=20)
    turns = parser.parse_args().turns
    if missing():
        print(f"{NEEDS}\nMissing or wrong: {', '.join(missing())}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="cost-") as folder:
        report(*run(turns, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
