"""Attempts to continue a run, not those of a call: each is counted before it is made and taken back when it is over (I10).

A run is in hand while its chat is loaded, and from its launch until it is past its cursor. So `recoveries` is how
often a process ended while this run was in hand; what only waited is never counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from . import codec, runs
from .errors import RecordCorrupt
from .ids import CallId, RunId
from .records import Hold, HoldReason, Run, RunState
from .scribe import Scribe
from .store.base import Reader, Row

MOST = 3
"""So many processes may end with a run in hand; then a person decides."""

LAST_ONE = MOST - 1
"""Where the count stands after a person resumed a crash loop: one more end holds the run at once."""

NOT_LOADED = "not_loaded"
"""In the facts of a hold: loading the chat ended the process, so it is not loaded before a person decides."""

_LOADING, _LAUNCHED = "loading", "launched"
_OPENS = {"recovery_begun": _LOADING, "run_claimed": _LAUNCHED}
_GOES_ON = {"call_served", "call_begun_again"}
_PROGRESS = {"call_begun", "run_released"}


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a process that had the run in hand: what it was doing, at which call, and whether memory ran out."""

    doing: str
    call_id: CallId | None
    out_of_memory: bool


def begin(scribe: Scribe, run_id: RunId) -> Run:
    """Take a run in hand to load its chat; one too many is a hold. `may_load` says whether it may be loaded."""
    run = runs.load(scribe.tx, run_id)
    if run.recoveries >= MOST:
        return _hold(scribe, run)
    if not may_load(run):
        return run
    return _count(scribe, run)


def may_load(run: Run) -> bool:
    return run.hold is None or NOT_LOADED not in run.hold.facts


def settle(scribe: Scribe, run_id: RunId, why: Hold | None) -> Run:
    """Put a run down again: it waits for a person or for its turn. What is held stays held."""
    run = runs.load(scribe.tx, run_id) if why is None else runs.load_to_hold(scribe, run_id, why)
    if run.state is RunState.HELD and (why is None or (run.hold is not None and _same(run.hold, why))):
        return _put_down(scribe, run, 0)
    if why is not None:
        return runs.move(scribe, run, RunState.HELD, "run_held", hold=why, recoveries=0, reason=why.reason.value)
    left = max(run.recoveries - 1, 0)
    if run.state is RunState.QUEUED:
        return _put_down(scribe, run, left)
    return runs.move(scribe, run, RunState.QUEUED, "run_queued", recoveries=left)


def _same(held: Hold, why: Hold) -> bool:
    return (held.reason, held.call_id) == (why.reason, why.call_id)


def _count(scribe: Scribe, run: Run) -> Run:
    if run.state is not RunState.HELD:
        return runs.move(scribe, run, run.state, "recovery_begun", recoveries=run.recoveries + 1)
    return _note(scribe, run, "recovery_begun", run.recoveries + 1)  # what a person is shown did not change


def _put_down(scribe: Scribe, run: Run, left: int) -> Run:
    return run if run.recoveries == 0 else _note(scribe, run, "recovery_ended", left)


def _note(scribe: Scribe, run: Run, event: str, recoveries: int) -> Run:
    scribe.tx.change("count_recoveries", run_id=run.run_id, recoveries=recoveries)
    scribe.event(event, run.run_id)
    return replace(run, recoveries=recoveries)


def _hold(scribe: Scribe, run: Run) -> Run:
    """A run that waits for a person keeps its reason, and only its chat is not loaded; any other is held as a crash loop."""
    deaths = of_run(scribe.tx, run.run_id)[-MOST:]
    unloadable = run.hold is not None or any(death.doing == _LOADING for death in deaths)
    if run.hold is not None:
        why = replace(run.hold, facts={**run.hold.facts, NOT_LOADED: run.recoveries})
    else:
        facts: dict[str, Any] = {"ends": run.recoveries, "out_of_memory": sum(death.out_of_memory for death in deaths)}
        facts |= {NOT_LOADED: run.recoveries} if unloadable else {}
        why = Hold(HoldReason.CRASH_LOOP, deaths[-1].call_id if deaths else None, _words(scribe.tx, run, deaths), facts)
    held = runs.move(scribe, run, RunState.HELD, "run_held", hold=why, recoveries=0, reason=why.reason.value)
    return held if unloadable else _count(scribe, held)


class Completion(Enum):
    """Whether the chat of a finished run has to be compared with its record."""

    DUE = "due"
    DONE = "done"  # compared once: it cannot fall behind again
    GIVEN_UP = "given up"  # loading it ended three processes


def begin_completion(scribe: Scribe, run_id: RunId) -> Completion:
    """The same for a finished run whose chat may lag behind."""
    row = scribe.tx.one("completions_of_run", run_id=run_id)
    assert row is not None
    if row["ended"]:
        return Completion.DONE
    if row["begun"] >= MOST:
        return Completion.GIVEN_UP
    scribe.event("completion_begun", run_id)
    return Completion.DUE


# -- what ended, and how --------------------------------------------------------------------------


def of_run(tx: Reader, run_id: RunId) -> list[Death]:
    """The processes that ended with this run in hand since it last made progress, oldest first."""
    deaths: list[Death] = []
    hand: _InHand | None = None
    for row in tx.all("attempts_of_run", run_id=run_id):
        if hand is not None and row["boot_id"] != hand.boot["boot_id"]:
            deaths.append(hand.died(tx))
            hand = None
        if row["kind"] in _OPENS:
            hand = _InHand(_OPENS[row["kind"]], row)
        elif row["kind"] in _GOES_ON:
            if hand is not None:
                hand.call_id = CallId(row["call_id"])
        else:
            hand = None
            deaths = [] if row["kind"] in _PROGRESS else deaths
    return [*deaths, hand.died(tx)] if hand is not None and hand.boot["boot_id"] != _now(tx) else deaths


@dataclass(slots=True)
class _InHand:
    doing: str
    boot: Row
    call_id: CallId | None = None

    def died(self, tx: Reader) -> Death:
        return Death(self.doing, self.call_id, _out_of_memory(tx, self.boot))


def _now(tx: Reader) -> str:
    row = tx.one("newest_boot")
    return "" if row is None else str(row["boot_id"])


def _out_of_memory(tx: Reader, boot: Row) -> bool:
    """Whether the system counted a kill for lack of memory between that process's start and the next one's."""
    after = tx.one("boot_after", boot_id=boot["boot_id"])
    if after is None:
        return False
    then, now = _memory(boot["facts"]), _memory(after["facts"])
    same_place = then.get("place") and then.get("place") == now.get("place")
    return bool(same_place) and now.get("kills", 0) > then.get("kills", 0)


def _memory(facts: bytes) -> dict[str, Any]:
    try:
        value = codec.decode(facts)
    except RecordCorrupt:
        return {}  # it only adds a word to a hold
    memory = value.get("memory") if isinstance(value, dict) else None
    return memory if isinstance(memory, dict) else {}


def _words(tx: Reader, run: Run, deaths: Sequence[Death]) -> str:
    """The likely cause, and what can be done, for a person."""
    places = {(death.doing, death.call_id) for death in deaths}
    where = _where(tx, run.run_id, deaths[-1]) if deaths else "it continued this run"
    times = {1: "again", 2: "twice"}.get(len(deaths), "three times")
    what = f"The server ended {times} while {where}." if len(places) < 2 else f"The server ended {times}, at last while {where}."
    starved = sum(death.out_of_memory for death in deaths)
    how = f"The system ended it for lack of memory ({starved} of {len(deaths)} times)." if starved else "How it ended is not known."
    advice = "Find the cause first. Resume tries once more, alone, and holds the run at once if that ends the server again."
    return f"{what} {how} Nothing was repeated. {advice}"


def _where(tx: Reader, run_id: RunId, death: Death) -> str:
    if death.doing == _LOADING:
        return "the chat of this run was loaded"
    if death.call_id is None:
        return "this run was started again, before its first step"
    step = tx.one("step_of_run", run_id=run_id, call_id=death.call_id)
    named = f"step {step['number']} ({step['name']})" if step is not None else "a step"
    return f"this run went on from {named}"
