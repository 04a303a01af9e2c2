"""What is to be reached, and what a measured figure says about it: holds, falls short, or not measured and why."""

from __future__ import annotations

from dataclasses import dataclass

from .rounds import Ratio


@dataclass(frozen=True)
class Target:
    """One line of the end. `most` is an upper bound, `least` a lower one."""

    name: str
    most: float | None = None
    least: float | None = None
    unit: str = " x"

    def judged(self, value: float | Ratio | None, why_not: str = "", least: float | Ratio | None = None) -> Verdict:
        """`least` is what was measured, beside it, of what has to be done whoever does it: where that misses the bound, all do."""
        if value is None:
            return Verdict(self, None, "not measured", why_not)
        number = value.value if isinstance(value, Ratio) else value
        good = self._reaches(number)
        notes = [f"[{value.low:.2f}-{value.high:.2f}]"] if isinstance(value, Ratio) else []
        if least is not None and not good:
            bound = least.value if isinstance(least, Ratio) else least
            notes.append(f"the least that has to be done: {bound:.2f}{self.unit}{'' if self._reaches(bound) else ', so out of reach'}")
        return Verdict(self, number, "holds" if good else "falls short", " ".join(notes))

    def _reaches(self, number: float) -> bool:
        return (self.most is None or number <= self.most) and (self.least is None or number >= self.least)

    @property
    def bound(self) -> str:
        sign, number = ("<=", self.most) if self.most is not None else (">=", self.least)
        return f"{sign} {number:.3g}{self.unit}"


@dataclass(frozen=True)
class Verdict:
    target: Target
    value: float | None
    verdict: str
    note: str

    def line(self) -> str:
        value = "" if self.value is None else f"{self.value:.2f}{self.target.unit}"
        return f"{self.target.name:66} {value:>9}  {self.target.bound:>9}  {self.verdict}  {self.note}".rstrip()

    def record(self) -> dict[str, object]:
        return {"target": self.target.name, "bound": self.target.bound, "value": self.value, "verdict": self.verdict, "note": self.note}


ENGINE_5_INLINE = Target("engine, 5 commits, in the caller's thread / raw SQLite, 5", most=1.3)
ENGINE_5 = Target("engine, 5 commits, writer thread / raw SQLite, 5", most=1.6)
SYNCS_5 = Target("syncs of such a turn, counted", most=5, unit="")
ENGINE_9 = Target("engine, 9 commits, writer thread / raw SQLite, 9", most=1.6)
OVER_DBOS = Target("engine, 9 commits / DBOS on SQLite", most=1 / 6)
OVER_LANGGRAPH = Target("engine, 9 commits / LangGraph SqliteSaver with DeltaChannel", most=1 / 6)
REFHOST = Target("small host: added by the plugin / engine, 9 commits", most=2.0)
REAL_HOST = Target("real host: added by the plugin / engine, 9 commits", most=2.0)
REAL_TURN = Target("real host: plain turn with the plugin / without", most=1.05)
LOOP_HOLD = Target("longest hold of the loop by the journal, in commits", most=1.0, unit="")
GROWTH_TIME = Target("turn 1,000 / turn 100, time", most=1.2)
GROWTH_BYTES = Target("turn 1,000 / turn 100, bytes", most=1.2)
GROWTH_HOST = Target("real host, 100 turns: last ten / first ten, bytes", most=1.2)
STORED = Target("bytes stored / distinct content handed in", most=1.3)
BIG = Target("5 MB output: its commit / a bare write and sync", most=4.0)
BIG_DBOS = Target("5 MB output: its turn / the same in DBOS", most=1 / 3)
BIG_LANGGRAPH = Target("5 MB output: its turn / the same in LangGraph", most=1 / 3)
OPEN = Target("open with 10,000 finished runs, cold / an empty journal", most=5.0)
RECOVER = Target("1,000 interrupted runs read and verified / raw read and hash", most=2.0)
FIRST_LIST = Target("their first list / reading all of them", most=1.0)
CHATS_8 = Target("8 chats at once: commits a second / one by one on the loop", least=2.5)
CHATS_32 = Target("32 chats at once: commits a second / one by one on the loop", least=5.0)
LAG_8 = Target("8 chats at once: loop lag / one by one on the loop", most=0.1)
LAG_32 = Target("32 chats at once: loop lag / one by one on the loop", most=0.1)
