"""`make bench`: prints a table and the targets, and writes the same as JSON."""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import big, chats, growth, hosts, opening, syncs
from .rounds import TOP, Plan, Ratio, Series
from .targets import (
    BIG,
    BIG_DBOS,
    BIG_LANGGRAPH,
    CHATS_8,
    CHATS_32,
    ENGINE_5,
    ENGINE_5_INLINE,
    ENGINE_9,
    FIRST_LIST,
    GROWTH_BYTES,
    GROWTH_TIME,
    LAG_8,
    LAG_32,
    OPEN,
    OVER_DBOS,
    OVER_LANGGRAPH,
    RECOVER,
    STORED,
    SYNCS_5,
    Target,
    Verdict,
)

OUT = Path(__file__).resolve().parent / "out"
RAW_5, RAW_9 = "raw SQLite, 5 commits", "raw SQLite, 9 commits"
ENGINE = "engine, 9 commits"
INLINE = "engine, 5 commits, in the caller's thread"
TURNS = (
    RAW_5,
    RAW_9,
    "bare syncs, 5",
    "bare syncs, 9",
    "least, 5 commits",
    "least, 9 commits",
    "least, 5 commits, writer thread",
    "least, 9 commits, writer thread",
    "store, 5 commits",
    "store, 9 commits",
    "statements of the engine, 5 commits",
    "statements of the engine, 9 commits",
    "engine, 5 commits",
    INLINE,
    ENGINE,
)
DBOS, LANGGRAPH, UNSAVED = "DBOS, SQLite", "LangGraph, SqliteSaver with DeltaChannel", "LangGraph, no saver"
BIG_TURN, BIG_LEAST = "engine, one answer of 5 MB", "least, one answer of 5 MB"
BIG_PEERS = ("DBOS, one answer of 5 MB", "LangGraph, one answer of 5 MB")


class Report:
    """Collects rows and verdicts, and says them as they come."""

    def __init__(self, plan: Plan, quick: bool) -> None:
        self.plan, self.quick = plan, quick
        self.verdicts: list[Verdict] = []
        self.facts: dict[str, Any] = {}
        self.series: dict[str, Series] = {}

    def part(self, name: str, **changed: Any) -> Plan:
        return replace(self.plan, folder=self.plan.folder / name, **changed)

    def judge(self, target: Target, value: float | Ratio | None, why_not: str = "", *, least: float | Ratio | None = None) -> None:
        self.verdicts.append(target.judged(value, why_not, least=least))

    def say(self, title: str, facts: dict[str, Any]) -> None:
        self.facts[title] = facts
        print(f"\n{title}")
        for name, value in facts.items():
            print(f"  {name}: {value}")


def turns(report: Report) -> None:
    """A turn, everywhere at once."""
    series, missing = report.plan.interleave(TURNS, peers=(DBOS, LANGGRAPH, UNSAVED))
    report.series = series
    print(f"{'a turn of 2 model and 2 tool calls':44} {'ms':>8} {'p99':>8} {'CPU ms':>8}   to its floor")
    for name, each in series.items():
        floor = series[RAW_9 if "9" in name else RAW_5]
        print(f"{name:44} {each.median * 1000:8.2f} {each.summary()['p99_ms']:8.2f} {each.summary()['cpu_ms']:8.2f}   {each.over(floor)}")
    report.facts["turns"] = {name: each.summary() for name, each in series.items()} | {"missing": missing}
    least = {name.removeprefix("least, "): each for name, each in series.items() if name.startswith("least")}
    threaded = {way: least[f"{way} commits, writer thread"] for way in ("5", "9")}
    report.judge(ENGINE_5_INLINE, series[INLINE].over(series[RAW_5]), least=least["5 commits"].over(series[RAW_5]))
    report.judge(ENGINE_5, series["engine, 5 commits"].over(series[RAW_5]), least=threaded["5"].over(series[RAW_5]))
    for way, target in (("5", SYNCS_5),):
        report.judge(target, syncs.count(report.plan.folder / f"syncs{way}", way), "strace is not here; `make test` counts the batches")
    report.judge(ENGINE_9, series[ENGINE].over(series[RAW_9]), least=threaded["9"].over(series[RAW_9]))
    for target, peer in ((OVER_DBOS, DBOS), (OVER_LANGGRAPH, LANGGRAPH)):
        found = (series[ENGINE].over(series[peer]), threaded["9"].over(series[peer])) if peer in series else (None, None)
        report.judge(target, found[0], missing.get(peer, ""), least=found[1])


def growing(report: Report) -> None:
    found = growth.measure(report.part("growth", rounds=6 if report.quick else 20), long=300 if report.quick else growth.LONG)
    report.say("growth", found)
    report.judge(GROWTH_TIME, found["time"])
    report.judge(GROWTH_BYTES, found["bytes"])
    report.judge(STORED, found["stored_over_distinct"], least=found["least_over_distinct"])


def large(report: Report) -> None:
    found = big.measure(report.part("big", rounds=4 if report.quick else 15))
    report.say("one output of 5 MB", found)
    report.judge(BIG, found["ratio"])
    plan = report.part("bigpeers", runs=1, rounds=2 if report.quick else 6, turns=1)
    series, missing = plan.interleave([BIG_TURN, BIG_LEAST], peers=BIG_PEERS, before=1)
    report.say("a turn with one answer of 5 MB", {name: each.summary() for name, each in series.items()})
    for target, peer in zip((BIG_DBOS, BIG_LANGGRAPH), BIG_PEERS, strict=True):
        turn, least = (series[name].over(series[peer]) if peer in series else None for name in (BIG_TURN, BIG_LEAST))
        report.judge(target, turn, missing.get(peer, ""), least=least)


def openings(report: Report) -> None:
    found = opening.finished(report.part("finished", rounds=5 if report.quick else 15), 300 if report.quick else 10_000)
    report.say("opening", found)
    report.judge(OPEN, found["ratio"])
    found = opening.interrupted(report.part("interrupted", rounds=5 if report.quick else 10), 100 if report.quick else 1_000)
    report.say("interrupted runs", found)
    report.judge(RECOVER, found["ratio"], least=found["raw of whole rows, decoded, to raw"])
    report.judge(FIRST_LIST, found["list_ms"] / found["ms"]["journal"])


def crowds(report: Report) -> None:
    for count, commits, lag in ((8, CHATS_8, LAG_8), (32, CHATS_32, LAG_32)):
        found = chats.measure(report.part("chats", rounds=3 if report.quick else 8), count, 0.4 if report.quick else 1.5)
        report.say(f"{count} chats at once", found)
        report.judge(commits, found["commits"], least=found["least, commits"])
        report.judge(lag, found["late"])


def in_hosts(report: Report) -> None:
    for verdict in hosts.measure(report.part("hosts"), report.series.get(ENGINE), quick=report.quick, say=report.say):
        report.verdicts.append(verdict)


PARTS: dict[str, Callable[[Report], None]] = {
    "turns": turns,
    "growth": growing,
    "big": large,
    "opening": openings,
    "chats": crowds,
    "hosts": in_hosts,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description="What the journal costs, beside its floor and its peers.")
    parser.add_argument("--quick", action="store_true", help="small numbers, for development: a few minutes, rough figures")
    parser.add_argument("--only", choices=PARTS, nargs="*", help="some of the parts")
    parser.add_argument("--peers", help="a Python with requirements/peers.txt; `make bench PEERS=1` makes it")
    parser.add_argument("--folder", type=Path, default=TOP / "bench", help="where the files are written: the disk that is measured")
    asked = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".run-", dir=asked.folder) as folder:
        runs, rounds, each = (1, 6, 5) if asked.quick else (3, 12, 10)
        report = Report(Plan(Path(folder), runs, rounds, each, asked.peers), asked.quick)
        for name in asked.only or PARTS:
            PARTS[name](report)
    print()
    for verdict in report.verdicts:
        print(verdict.line())
    minutes = (time.monotonic() - started) / 60
    print(f"\n{minutes:.1f} minutes. Ratios are medians over interleaved rounds, [lower-upper quartile].")
    OUT.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "system": platform.platform()}
    record = {
        "quick": asked.quick,
        "minutes": round(minutes, 1),
        "machine": machine,
        "facts": report.facts,
        "targets": [verdict.record() for verdict in report.verdicts],
    }
    (OUT / "bench.json").write_text(json.dumps(record, indent=1, default=_plain) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    return {"value": value.value, "low": value.low, "high": value.high} if isinstance(value, Ratio) else str(value)


if __name__ == "__main__":
    main()
