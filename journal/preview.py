"""What a decision would do, call by call: the records as it would leave them, asked of the planner that the resume asks.

Pure functions of the records. Nothing is decided or written here: `decisions.py` says what is on offer, and carries
out the very consequence that was previewed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from .ids import CallId
from .modes import Mode
from .planner import Next, next_step
from .records import Call, CallKey, CallKind, Choice, HoldReason, Outcome, Permission, Run
from .replay import NOTHING, Allowlist


class Fate(Enum):
    """What happens to a recorded call."""

    REUSED = "reused"
    COUNTED = "counted"
    RUNS = "runs"
    REPEATED = "repeated"
    CHECKED = "checked"
    REPORTED = "reported"
    ASKED = "asked"
    SET_ASIDE = "set_aside"
    KEPT = "kept"
    ENDED = "ended"


WORDS: dict[Fate, str] = {
    Fate.REUSED: "The recorded result is used. Nothing runs.",
    Fate.COUNTED: "Counts as done. Nothing runs.",
    Fate.RUNS: "Runs again, once.",
    Fate.REPEATED: "Runs again by itself: it may be repeated safely.",
    Fate.CHECKED: "Is looked at first. It runs again only if it is proved not to have happened.",
    Fate.REPORTED: "Nothing runs. The model is told that it may have happened, and checks.",
    Fate.ASKED: "You are asked about it. Nothing runs before that.",
    Fate.SET_ASIDE: "The record stays, and is no part of the run any more. The work may happen again.",
    Fate.KEPT: "The record stays. Nothing runs.",
    Fate.ENDED: "Nothing runs. Whether it happened stays unknown.",
}

_BY_PLAN = {
    Next.SERVE: Fate.REUSED,
    Next.ALLOWED: Fate.RUNS,
    Next.REPLAY: Fate.REPEATED,
    Next.CHECK: Fate.CHECKED,
    Next.RECONCILE: Fate.REUSED,
    Next.REPORT: Fate.REPORTED,
    Next.RETRY: Fate.RUNS,
}


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a decision does to the records of a run's calls, and nothing else."""

    settled: CallId | None = None
    """Counts as done from now on."""
    allowed: CallId | None = None
    """May run again, once."""
    abandoned_from: int | None = None
    """The place from which on records are no part of the run any more."""
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Outlook:
    """What may run again without a person, as it stands now."""

    allowlist: Allowlist = NOTHING
    permission_now: Callable[[Call], Permission] = field(default=lambda call: call.permission)
    at: int = 0


@dataclass(frozen=True, slots=True)
class Foreseen:
    """One call, with its number in the run, and what happens to it."""

    n: int
    call: Call
    fate: Fate

    @property
    def text(self) -> str:
        if self.fate is Fate.RUNS and self.call.allowance > 1:
            return f"Runs again, at most {self.call.allowance} times."
        return WORDS[self.fate]


# -- what a decision does -----------------------------------------------------------------------


def consequence_of(run: Run, all_calls: Sequence[Call], call: Call | None, choice: Choice) -> Consequence:
    """What this choice about this call does to the records."""
    match choice:
        case Choice.STOP:
            return Consequence(ends=True)
        case Choice.CONFIRMED_COMPLETED if call is not None:
            return Consequence(settled=call.call_id)
        case Choice.CONFIRMED_NOT_COMPLETED if call is not None:
            return Consequence(allowed=call.call_id)
        case Choice.NEW_ATTEMPT:
            return _start_over(run, all_calls, call)
    return Consequence()


def is_way_on(run: Run, call: Call | None, choice: Choice) -> bool:
    """Whether this is said about the run's way on, not about one of several unknown calls."""
    if choice is not Choice.NEW_ATTEMPT or run.hold is None:
        return False
    is_open = call is not None and call.outcome is None
    return run.hold.reason in _FROM_STEP or (run.hold.reason is HoldReason.RESTORED and not is_open)


_FROM_STEP = frozenset({HoldReason.DIVERGED, HoldReason.UNRECORDED_STEP})


def _start_over(run: Run, all_calls: Sequence[Call], call: Call | None) -> Consequence:
    if run.hold is None or (run.hold.reason is HoldReason.RESTORED and is_way_on(run, call, Choice.NEW_ATTEMPT)):
        return Consequence()
    if call is None:
        return Consequence(abandoned_from=run.checkpoint_seq)
    if run.hold.reason in _FROM_STEP:
        return Consequence(abandoned_from=call.seq)
    if call.lossy:
        asked_by = _model_call_of(all_calls, call)
        return Consequence(abandoned_from=asked_by.seq if asked_by else call.seq)
    return Consequence(allowed=call.call_id)


def _model_call_of(all_calls: Sequence[Call], call: Call) -> Call | None:
    """The model call whose answer asked for this call."""
    key = CallKey(call.key.path, call.key.step, CallKind.MODEL, 0)
    return next((each for each in all_calls if each.key == key and not each.abandoned), None)


def applied(all_calls: Sequence[Call], consequence: Consequence) -> list[Call]:
    """The records as they are left, as far as the planner looks at them."""
    return [_after(call, consequence) for call in all_calls]


def _after(call: Call, consequence: Consequence) -> Call:
    if call.abandoned:
        return call
    if consequence.abandoned_from is not None and call.seq >= consequence.abandoned_from:
        return replace(call, abandoned=True)
    if call.call_id == consequence.settled:
        return replace(call, outcome=Outcome.CONFIRMED, origin="decision")
    if call.call_id == consequence.allowed:
        return replace(call, outcome=None, value=None, allowance=1)
    return call


# -- what happens then --------------------------------------------------------------------------


def foresee(
    run: Run, all_calls: Sequence[Call], consequence: Consequence, outlook: Outlook, waits: Collection[CallId] = ()
) -> list[Foreseen]:
    """Every call that is part of the run now. `waits` are those that a person still has to decide about afterwards."""
    found, mode = [], Mode.of(run.mode)
    for number, (call, after) in enumerate(zip(all_calls, applied(all_calls, consequence), strict=True), 1):
        if not call.abandoned:
            found.append(Foreseen(number, after, _fate(after, consequence, outlook, mode, waits)))
    return found


def _fate(after: Call, consequence: Consequence, outlook: Outlook, mode: Mode, waits: Collection[CallId]) -> Fate:
    if consequence.ends:
        return Fate.ENDED if after.outcome is None else Fate.KEPT
    if after.abandoned:
        return Fate.SET_ASIDE
    if after.call_id in waits:
        return Fate.ASKED
    if after.outcome is Outcome.CONFIRMED:
        return Fate.COUNTED
    planned = next_step(after, outlook.permission_now(after), outlook.allowlist, outlook.at, mode=mode)
    return Fate.ASKED if isinstance(planned, HoldReason) else _BY_PLAN[planned]


def then(steps: Sequence[Foreseen], consequence: Consequence, waits: Collection[CallId] = ()) -> str:
    """What the run does after these steps, as a sentence."""
    if consequence.ends:
        return "The run ends. The chat goes on with the saved results."
    first = next((step for step in steps if step.fate is Fate.ASKED), None)
    if first is not None and waits:
        return f"The run stays on hold until step {first.n} is decided, too."
    if first is not None:
        return f"The run goes on, and stops at step {first.n} to ask you."
    aside = next((step for step in steps if step.fate is Fate.SET_ASIDE), None)
    if aside is not None:
        return f"The run goes on and does the work from step {aside.n} on anew."
    return "The run goes on with new steps."


def compact(steps: Sequence[Foreseen]) -> list[tuple[Foreseen, int]]:
    """The same for a page: neighbours that are simply reused are one entry, with the number of the last of them."""
    found: list[tuple[Foreseen, int]] = []
    for step in steps:
        if found and step.fate in _QUIET and found[-1][0].fate is step.fate and found[-1][1] == step.n - 1:
            found[-1] = (found[-1][0], step.n)
        else:
            found.append((step, step.n))
    return found


_QUIET = frozenset({Fate.REUSED, Fate.KEPT})


def shown(steps: Sequence[Foreseen], about: CallId | None, own: Collection[CallId]) -> list[list[str]]:
    """What a digest covers of a preview.

    `own` are calls that the same hold asks about: what a person says about another of them meanwhile does not make
    this form stale.
    """
    return [[step.call.call_id, step.fate.value] for step in steps if step.call.call_id == about or step.call.call_id not in own]
