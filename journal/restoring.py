"""A journal that was put back: a new generation begins, and everything unfinished waits for a person.

What was done after the state that came back is not recorded here. So no permission that stands in it may be used, no
message that waits in it goes out by itself, and no decision that was shown before fits any more. All of it is one
transaction, before anything else may happen with a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import runs
from .records import Hold, HoldReason, Run, RunState
from .scribe import Scribe
from .store.base import Restored
from .store.heads import Head
from .store.lineage import begin_generation

FOUND: Mapping[str, str] = {
    "rolled_back": "The journal was put back to an earlier state.",
    "replaced": "Another journal was put in the place of this one.",
    "moved": "The journal was moved or copied without its head files.",
}
WHY: Mapping[str, str] = {
    "rolled_back": "The journal was put back to an earlier state. What this run did after that is not recorded. Nothing was repeated.",
    "replaced": "Another journal was put in this place. What this run did after it was copied is not recorded. Nothing was repeated.",
    "moved": "The journal was moved or copied without its head files, so it may be an earlier state. Nothing was repeated.",
}


def begin(scribe: Scribe, restored: Restored, heads: Sequence[Head] = ()) -> None:
    """Hold every unfinished run, whatever it waited for before. `heads` are settled by it and tell of nothing new."""
    begin_generation(scribe.tx, restored, scribe.now, heads)
    scribe.event("generation_begun", None, generation=restored.generation, reason=restored.reason)
    scribe.tx.change("revoke_allowances")
    scribe.tx.change("offer_late_inputs", now=scribe.now)
    for row in scribe.tx.all("unfinished_runs"):
        _hold(scribe, runs.from_row_any(row), restored)


def _hold(scribe: Scribe, run: Run, restored: Restored) -> None:
    before = run.hold
    why = Hold(
        HoldReason.RESTORED,
        before.call_id if before else None,
        WHY[restored.reason],
        {"generation": restored.generation, "reason": restored.reason, "before": _facts(before) if before else None},
    )
    runs.move(scribe, run, RunState.HELD, "run_held", hold=why, recoveries=0, reason=why.reason.value)


def _facts(hold: Hold) -> dict[str, Any] | None:
    if hold.reason is HoldReason.RESTORED:
        return hold.facts.get("before")  # what it was before the first restore
    return {"reason": hold.reason.value, "call_id": hold.call_id, "text": hold.text, "since": hold.since, "facts": hold.facts}
