"""What a person may decide about a run, why not, and what a decision does (I7).

The offers are a pure function of the records: the panel shows them, and the decision is checked against them again
in its own transaction. Stop is always on offer. Every reason to hold has a way out besides, or says why not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from . import attempts, calls, children, codec, preview, runs
from .calls import Result
from .codec import Body
from .errors import (
    AckMissing,
    NotAllowed,
    NoteMissing,
    RecordCorrupt,
    RequestReused,
    RunEnded,
    ShownChanged,
    StaleVersion,
    UnknownCall,
)
from .ids import CallId, Digest, RunId
from .modes import Mode
from .planner import is_reported
from .preview import Consequence, Foreseen, Outlook
from .records import Call, Choice, Decision, Hold, HoldReason, Outcome, Run, RunState
from .scribe import Scribe
from .store.base import Reader

_THREE = (Choice.CONFIRMED_COMPLETED, Choice.CONFIRMED_NOT_COMPLETED, Choice.NEW_ATTEMPT)

PER_CALL: Mapping[HoldReason, tuple[Choice, ...]] = {
    HoldReason.OUTCOME_UNKNOWN: _THREE,
    HoldReason.NOT_SERVABLE: _THREE,
    HoldReason.DIVERGED: (Choice.NEW_ATTEMPT,),
    HoldReason.UNRECORDED_STEP: (Choice.NEW_ATTEMPT,),
    HoldReason.MASKED_VALUE_LOST: (Choice.CONFIRMED_COMPLETED, Choice.NEW_ATTEMPT),
    HoldReason.CRASH_LOOP: _THREE,
    HoldReason.ASK: _THREE,
    HoldReason.WORLD_DRIFT: _THREE,
    HoldReason.RESTORED: _THREE,
}
"""What can be said about a call of a run held for this reason; a reason that is missing asks about no call."""

RESUMABLE = frozenset({HoldReason.CRASH_LOOP, HoldReason.ASK, HoldReason.WORLD_DRIFT, HoldReason.OUTCOME_UNKNOWN})
"""Reasons under which the run may simply go on, once no call is unknown any more."""

RESTORABLE = frozenset({HoldReason.CHAT_MOVED_ON, HoldReason.CHAT_GONE, HoldReason.CHECKPOINT_CORRUPT})
"""Reasons under which a person chooses first from which state the run goes on (`selections.py`)."""

_NOTED = frozenset({Choice.CONFIRMED_COMPLETED, Choice.CONFIRMED_NOT_COMPLETED})


@dataclass(frozen=True, slots=True)
class Offer:
    """One choice as it is shown. `digest` covers all that the choice is about; it comes back with the decision."""

    choice: Choice
    call_id: CallId | None
    allowed: bool
    why: str
    needs_note: bool
    needs_ack: bool
    preview: str
    digest: str
    steps: tuple[Foreseen, ...] = ()
    """What happens to each call of the run."""
    then: str = ""


# -- what is on offer ---------------------------------------------------------------------------


def offers(run: Run, all_calls: Sequence[Call], outlook: Outlook) -> list[Offer]:
    """Every choice for this run, those that are not possible too, each with the reason and with what it would do."""
    if run.state.is_final:
        return []
    return [_foreseen(run, all_calls, offer, outlook) for offer in _offers(run, all_calls)]


def _offers(run: Run, all_calls: Sequence[Call]) -> list[Offer]:
    asked = asked_calls(run, all_calls)
    shown = [_about_call(run, call, choice) for call in asked for choice in _THREE]
    if run.hold is not None and run.hold.reason in _PREVIEW_OF_RUN and not asked and not run.damaged:
        shown.append(_offer(run, None, Choice.NEW_ATTEMPT, "", _PREVIEW_OF_RUN[run.hold.reason]))
    told = [call for call in asked if is_reported(call, Mode.of(run.mode))] if _asks_only(run) else []
    resume_why = _why_no_resume(run, all_calls, [call for call in asked if call not in told])
    shown.append(_offer(run, None, Choice.RESUME, resume_why, f"{_PREVIEW_RESUME}{_PREVIEW_TOLD if told else ''}"))
    shown.append(_offer(run, None, Choice.STOP, "", "Nothing more will run. Records stay."))
    return shown


def _asks_only(run: Run) -> bool:
    """Whether it was the restart alone that asked: then what is reported to the model needs no word of a person."""
    return run.hold is not None and run.hold.reason is HoldReason.ASK


def _foreseen(run: Run, all_calls: Sequence[Call], offer: Offer, outlook: Outlook) -> Offer:
    """The offer with its preview, which its digest covers: what is decided is what was shown (I7)."""
    if offer.why:
        return offer
    call = next((call for call in all_calls if call.call_id == offer.call_id), None)
    consequence = preview.consequence_of(run, all_calls, call, offer.choice)
    waits = _still_unknown(run, preview.applied(all_calls, consequence), call, offer.choice)
    steps = preview.foresee(run, all_calls, consequence, outlook, waits)
    after = preview.then(steps, consequence, waits)
    own = {each.call_id for each in all_calls if each.allowance or each.origin == "decision"} | {
        each.call_id for each in asked_calls(run, all_calls)
    }
    covered = [offer.digest, preview.shown(steps, offer.call_id, own)]
    return replace(offer, steps=tuple(steps), then=after, digest=codec.digest(codec.encode(covered)))


def asked_calls(run: Run, all_calls: Sequence[Call]) -> list[Call]:
    """The calls that this hold asks a person about, and that are not decided yet."""
    if run.hold is None or run.hold.reason not in PER_CALL or run.damaged:
        return []
    present = [call for call in all_calls if not call.abandoned]
    match run.hold.reason:
        case HoldReason.DIVERGED | HoldReason.UNRECORDED_STEP:
            return [call for call in present if call.call_id == run.hold.call_id]
        case HoldReason.NOT_SERVABLE:
            return [call for call in present if _is_unservable(call, run.hold) or _is_unknown(call, run.hold)]
        case HoldReason.RESTORED:
            last = present[-1:]
            return [call for call in present if _is_unknown(call, run.hold) or call in last]
    return [call for call in present if _is_unknown(call, run.hold)]


def _is_unknown(call: Call, hold: Hold) -> bool:
    """An effect without result that nothing but a person can settle; what the allowlist repeats is asked if held for it."""
    undecided = call.outcome is None and call.allowance == 0 and not call.key.kind.is_inference
    return undecided and (call.permission.policy is None or call.call_id == hold.call_id)


def is_cut_off(call: Call, hold: Hold) -> bool:
    """A model call without an answer that this hold asks about: only a grant lets it be asked again."""
    asked = hold.reason is HoldReason.MODEL_INTERRUPTED or (hold.reason is HoldReason.ASK and hold.call_id == call.call_id)
    is_open = call.outcome is None and not call.abandoned and call.allowance == 0
    return asked and is_open and call.key.kind.is_inference


def _is_unservable(call: Call, hold: Hold) -> bool:
    return call.call_id == hold.call_id and call.outcome not in (None, Outcome.CONFIRMED)


_CUT_OFF = "The model call was cut off. Allow another attempt instead."
_PREVIEW_RESUME = "The run goes on from the last saved step."
_PREVIEW_TOLD = " The model is told that the step without result may have happened."
_PREVIEW_FROM_STEP = "The run starts over from this step. What was done since may happen twice; its records stay."
_TWICE_SINCE = "What came after it may happen twice."
_PREVIEW_OF_RUN: Mapping[HoldReason, str] = {
    HoldReason.UNRECORDED_STEP: _PREVIEW_FROM_STEP,
    HoldReason.RESTORED: f"The run goes on from its last saved state. {_TWICE_SINCE}",
}
_PREVIEWS: Mapping[Choice, str] = {
    Choice.CONFIRMED_COMPLETED: "The step counts as done. It will not run.",
    Choice.CONFIRMED_NOT_COMPLETED: "The step may run again, once.",
    Choice.NEW_ATTEMPT: "The step runs again, once. It may then have happened twice.",
}


def _about_call(run: Run, call: Call, choice: Choice) -> Offer:
    assert run.hold is not None
    text = _PREVIEWS[choice]
    if run.hold.reason is HoldReason.RESTORED and choice is Choice.NEW_ATTEMPT and call.outcome is not None:
        text = f"The run goes on after the last recorded step. {_TWICE_SINCE}"
    elif choice is Choice.NEW_ATTEMPT:
        if run.hold.reason is HoldReason.DIVERGED:
            text = _PREVIEW_FROM_STEP
        elif call.lossy:
            text = "The model is asked for this step again. What this step did before may happen twice."
    if run.hold.reason is HoldReason.RESTORED and _TWICE_SINCE not in text:
        text = f"{text} {_TWICE_SINCE}"
    return _offer(run, call, choice, _why_not(run.hold, call, choice), text)


def _why_not(hold: Hold, call: Call, choice: Choice) -> str:
    if choice not in PER_CALL[hold.reason]:
        if hold.reason is HoldReason.MASKED_VALUE_LOST:
            return "A hidden value that this step needs was not saved, so it cannot run from the record."
        return "The record and the run differ here, so this would not settle it."
    if choice is Choice.CONFIRMED_NOT_COMPLETED and call.lossy:
        return "A hidden value that this step needs was not saved, so it cannot run from the record."
    if choice is not Choice.NEW_ATTEMPT and hold.reason is HoldReason.RESTORED and call.outcome is not None:
        return "The result of this step is saved."
    if choice is not Choice.NEW_ATTEMPT and call.key.kind.is_inference:
        return "Only a model can say what its answer was. A new attempt asks it again."
    return ""


def _why_no_resume(run: Run, all_calls: Sequence[Call], asked: Sequence[Call]) -> str:
    if run.damaged:
        return "The record of this run cannot be read. Nothing tried to repair it."
    if run.hold is None:
        return "The run is not on hold."
    if asked:
        numbers = [number for number, call in enumerate(all_calls, 1) if call in asked]
        return f"Step {numbers[0]} is still unknown."
    if any(is_cut_off(call, run.hold) for call in all_calls):
        return _CUT_OFF
    if run.hold.reason in RESUMABLE:
        return ""
    if run.hold.reason in RESTORABLE:
        return "First choose the state to go on from. Nothing was changed so far."
    if run.hold.reason is HoldReason.MODEL_INTERRUPTED:
        return _CUT_OFF
    return "This does not settle why the run is on hold."


def _offer(run: Run, call: Call | None, choice: Choice, why: str, text: str) -> Offer:
    return Offer(
        choice=choice,
        call_id=call.call_id if call else None,
        allowed=not why,
        why=why,
        needs_note=choice in _NOTED,
        needs_ack=choice is Choice.NEW_ATTEMPT or (choice in _NOTED and run.hold is not None and run.hold.reason is HoldReason.RESTORED),
        preview=text,
        digest=_digest(run, call, choice, text),
    )


def _digest(run: Run, call: Call | None, choice: Choice, text: str) -> Digest:
    held = [run.hold.reason.value, run.hold.since] if run.hold else [run.state.value]
    about = None
    if call is not None:
        outcome = call.outcome.value if call.outcome else None
        about = [call.call_id, call.identity, call.attempts, call.allowance, outcome, call.late_results]
    return codec.digest(codec.encode([run.run_id, held, about, choice.value, text]))


# -- deciding -----------------------------------------------------------------------------------


def decide(scribe: Scribe, decision: Decision, said: Body, outlook: Outlook) -> Run:
    """Record one decision and let it count. `said` is what a confirmed call returns. Refused: nothing changes."""
    run, all_calls = read(scribe.tx, decision.run_id)
    request = request_digest(decision)
    if is_repeated(scribe, decision.request_id, request):
        return run
    _check(scribe, run, all_calls, decision, outlook)
    call = next((call for call in all_calls if call.call_id == decision.call_id), None)
    consequence = preview.consequence_of(run, all_calls, call, decision.choice)
    after = _apply(scribe, run, call, decision, consequence, said)
    seq = scribe.event("decided", run.run_id, call_id=decision.call_id, version=after.version, choice=decision.choice.value)
    scribe.tx.change(
        "add_decision",
        request_id=decision.request_id,
        run_id=run.run_id,
        call_id=decision.call_id,
        choice=decision.choice.value,
        shown_digest=decision.shown_digest,
        note=decision.note,
        ack=int(decision.ack),
        origin=decision.origin,
        request=request,
        hold_since=run.hold.since if run.hold else 0,
        version=after.version,
        seq=seq,
        now=scribe.now,
    )
    return after


def read(tx: Reader, run_id: RunId) -> tuple[Run, list[Call]]:
    """A run with its calls. If any of them cannot be read the run counts as damaged, and Stop is what is left."""
    run = runs.load_any(tx, run_id)
    try:
        return run, [] if run.damaged else calls.of_run(tx, run_id)
    except RecordCorrupt as error:
        return replace(run, damaged=error.what), []


def request_digest(decision: Decision) -> Digest:
    about = [decision.run_id, decision.call_id, decision.choice.value, decision.shown_digest, decision.note]
    return codec.digest(codec.encode([*about, decision.ack, decision.result_text or ""]))


def is_repeated(scribe: Scribe, request_id: str, request: str) -> bool:
    """The same request twice is one decision; the same id for something else is refused."""
    known = scribe.tx.one("request", request_id=request_id)
    if known is not None and known["request"] != request:
        raise RequestReused(request_id)
    return known is not None


def check_version(scribe: Scribe, run: Run, version: int, call_id: CallId | None, origin: str) -> None:
    """A form may lag behind by the same person's own decisions about other calls of this hold, and by nothing else."""
    if version == run.version:
        return
    if not 0 < version < run.version:
        raise StaleVersion(run, expected=version)
    own = scribe.tx.all("own_decisions", run_id=run.run_id, origin=origin, version=version, since=run.hold.since if run.hold else 0)
    lag = run.version - version
    if len(own) != lag or any(row["call_id"] == call_id for row in own):
        raise StaleVersion(run, expected=version)


def _check(scribe: Scribe, run: Run, all_calls: Sequence[Call], decision: Decision, outlook: Outlook) -> None:
    if run.state.is_final:
        raise RunEnded(run)
    if decision.call_id is not None and not any(call.call_id == decision.call_id for call in all_calls):
        raise UnknownCall(decision.call_id)
    check_version(scribe, run, decision.version, decision.call_id, decision.origin)
    found = [offer for offer in offers(run, all_calls, outlook) if offer.choice is decision.choice and offer.call_id == decision.call_id]
    if not found:
        raise NotAllowed("This is not asked here.")
    offer = found[0]
    if not offer.allowed:
        raise NotAllowed(offer.why)
    if decision.shown_digest != offer.digest:
        raise ShownChanged(run, expected=decision.shown_digest, found=offer.digest)
    if offer.needs_note and not decision.note.strip():
        raise NoteMissing
    if offer.needs_ack and not decision.ack:
        raise AckMissing


def _apply(scribe: Scribe, run: Run, call: Call | None, decision: Decision, consequence: Consequence, said: Body) -> Run:
    """Carry out what was previewed."""
    if consequence.ends:
        return children.stop(scribe, run.run_id, decision.origin, decision.note)
    if decision.choice is Choice.RESUME:
        return _go_on(scribe, run)
    if consequence.abandoned_from is not None:
        calls.abandon_from(scribe, run.run_id, consequence.abandoned_from)
        children.stop_abandoned(scribe, run.run_id)
    if call is not None and call.call_id == consequence.settled:
        open_call = calls.set_result_aside(scribe, call)
        calls.record(scribe, open_call, Result(Outcome.CONFIRMED, said, False, ""), origin="decision")
    if call is not None and call.call_id == consequence.allowed:
        calls.allow(scribe, calls.set_result_aside(scribe, call), 1)
    if _still_unknown(run, calls.of_run(scribe.tx, run.run_id), call, decision.choice):
        return runs.move(scribe, run, RunState.HELD, "call_decided", hold=run.hold)
    return _go_on(scribe, run)


def _still_unknown(run: Run, after: Sequence[Call], call: Call | None, choice: Choice) -> set[CallId]:
    """Those that wait for a person after this. After a restore the last call is asked about, too, also where it is settled."""
    if run.hold is None or choice in (Choice.STOP, Choice.RESUME) or preview.is_way_on(run, call, choice):
        return set()
    asked = asked_calls(run, after)
    unknown = [each for each in asked if _is_unknown(each, run.hold)] if run.hold.reason is HoldReason.RESTORED else asked
    return {each.call_id for each in unknown}


def _go_on(scribe: Scribe, run: Run) -> Run:
    looped = run.hold is not None and run.hold.reason is HoldReason.CRASH_LOOP
    return runs.move(scribe, run, RunState.QUEUED, "run_released", recoveries=attempts.LAST_ONE if looped else 0)
