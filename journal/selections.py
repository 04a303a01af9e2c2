"""From which state a run goes on when its chat, or its newest saved state, is no guide any more.

Nothing saved is dropped: an older state becomes the newest by a record of its own, and what came after it is served
again where it can be read. Whoever knows chats says which states can be used and keeps a copy of the chat first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from . import calls, checkpoints, children, codec, inputs, runs
from .decisions import RESTORABLE, check_version, is_repeated
from .errors import AckMissing, NotAllowed, RecordCorrupt, RunEnded, ShownChanged
from .ids import CallId, Digest, RunId
from .records import HoldReason, Run, RunState, Selection
from .scribe import Scribe
from .store.base import Reader, Row

NOW = "now"
"""The chat as it is: the run ends there."""

MOST_STATES = 3
_NEWEST_ENOUGH = frozenset({HoldReason.CHAT_MOVED_ON, HoldReason.CHAT_GONE})


@dataclass(frozen=True, slots=True)
class StateOffer:
    """One state as it is shown. `digest` covers all that the choice is about; it comes back with the selection."""

    selection: str
    title: str
    preview: str
    needs_ack: bool
    ends_run: bool
    at: int
    digest: Digest


@dataclass(frozen=True, slots=True)
class _Facts:
    """The run with all that a choice is about; calls that cannot be read are known by their place only."""

    run: Run
    states: Sequence[Row]  # newest first
    rows: Sequence[Row] = ()
    unreadable: Mapping[CallId, int] = field(default_factory=dict)
    why_none: str = ""


def offers(tx: Reader, run_id: RunId, usable: Collection[int]) -> tuple[list[StateOffer], str]:
    """What can be chosen, best first, and why nothing can. `usable`: places of the states that can be read whole."""
    facts = _read(tx, run_id)
    if facts.run.hold is None or facts.run.hold.reason not in RESTORABLE:
        return [], "The run is not on hold for its chat."
    if facts.why_none:
        return [], facts.why_none
    found = [_now(facts)] if facts.run.hold.reason is HoldReason.CHAT_MOVED_ON else []
    candidates = [row for row in facts.states if row["seq"] in usable]
    if facts.run.hold.reason in _NEWEST_ENOUGH and candidates[:1] == list(facts.states[:1]):
        candidates = candidates[:1]
    places = {_place(facts, row): row for row in reversed(candidates)}  # of states at the same step the newest is enough
    found += [_state(facts, row) for row in list(reversed(places.values()))[:MOST_STATES]]
    return found, "" if found else "No saved state of this chat can be read."


def _read(tx: Reader, run_id: RunId) -> _Facts:
    run = runs.load_any(tx, run_id)
    states = checkpoints.of_run(tx, run_id)
    if run.damaged:
        return _Facts(run, states, why_none=f"The record of this run cannot be read. {run.damaged}")
    try:
        inputs.of_run(tx, run_id)
    except RecordCorrupt as error:
        return _Facts(run, states, why_none=f"A message of this run cannot be read. {error.what}")
    rows, unreadable = calls.readable(tx, run_id)
    return _Facts(run, states, rows, unreadable)


# -- words ----------------------------------------------------------------------------------------


def _now(facts: _Facts) -> StateOffer:
    preview = (
        "The chat stays exactly as it is. The run ends here: nothing of it runs again. "
        "Its saved results are added to the chat as one note, so that the agent knows of them."
    )
    return _offer(facts, NOW, "Keep the chat as it is now", preview, needs_ack=False, at=facts.run.changed_at, about=None)


def _state(facts: _Facts, row: Row) -> StateOffer:
    assert facts.run.hold is not None
    reason = facts.run.hold.reason
    comes = "comes back as it was" if reason is HoldReason.CHAT_GONE else "goes back to its state"
    lost = _first_unreadable_after(facts, row) is not None
    parts = [f"The chat {comes} {_place(facts, row)}, and the run goes on from there."]
    if reason is HoldReason.CHAT_GONE:
        parts.append("Files that were deleted with the chat stay deleted.")
    else:
        parts.append("If the chat has anything newer, it is kept as a chat of its own first, and is no part of this run.")
    if lost:
        parts.append(f"Records {_place(facts, row, unreadable=True)} cannot be read: they stay, and what they did may happen twice.")
    else:
        parts.append("Saved results after that are used again and do not run again; a step without a result is asked about.")
    if reason is HoldReason.CHAT_MOVED_ON:
        parts.append("What was done in the chat without this record may happen twice.")
    title = "Bring the chat back" if reason is HoldReason.CHAT_GONE else f"Go back to the state {_place(facts, row)}"
    ack = lost or reason is HoldReason.CHAT_MOVED_ON
    about = [row["seq"], row["root"], len(facts.rows), sorted(facts.unreadable)]
    return _offer(facts, str(row["seq"]), title, " ".join(parts), needs_ack=ack, at=row["created_at"], about=about)


def _place(facts: _Facts, row: Row, *, unreadable: bool = False) -> str:
    """Where in the run a state stands, counted in its steps."""
    seq = _first_unreadable_after(facts, row) if unreadable else row["seq"]
    before = sum(1 for call in facts.rows if call["seq"] < (seq or 0))
    if unreadable:
        return f"from step {before + 1} on"
    return f"after step {before}" if before else "at the beginning of the run"


def _first_unreadable_after(facts: _Facts, row: Row) -> int | None:
    return min((seq for seq in facts.unreadable.values() if seq > row["seq"]), default=None)


def _offer(facts: _Facts, selection: str, title: str, preview: str, *, needs_ack: bool, at: int, about: object) -> StateOffer:
    assert facts.run.hold is not None
    held = [facts.run.hold.reason.value, facts.run.hold.since]
    digest = codec.digest(codec.encode([facts.run.run_id, held, selection, about, preview]))
    return StateOffer(selection, title, preview, needs_ack, selection == NOW, at, digest)


# -- choosing -------------------------------------------------------------------------------------


def select(scribe: Scribe, chosen: Selection, usable: Collection[int]) -> Run:
    """Record the choice and let the run go on from it, or end it, in one transaction. Refused: nothing changes."""
    run = runs.load_any(scribe.tx, chosen.run_id)
    if is_repeated(scribe, chosen.request_id, f"{chosen.run_id}:{chosen.selection}:{chosen.note}"):
        return run
    if run.state.is_final:
        raise RunEnded(run)
    check_version(scribe, run, chosen.version, None, chosen.origin)
    _checked(scribe, run, chosen, usable)
    if chosen.selection == NOW:
        after = children.stop(scribe, run.run_id, chosen.origin, chosen.note)
    else:
        _go_back(scribe, _read(scribe.tx, run.run_id), int(chosen.selection))
        after = runs.move(scribe, run, RunState.QUEUED, "run_released", recoveries=0)
    seq = scribe.event("state_chosen", run.run_id, version=after.version, selection=chosen.selection)
    scribe.tx.change(
        "add_selection",
        selection_id=scribe.ids.new("sel"),
        run_id=run.run_id,
        checkpoint_seq=None if chosen.selection == NOW else int(chosen.selection),
        request_id=chosen.request_id,
        note=chosen.note,
        origin=chosen.origin,
        seq=seq,
        now=scribe.now,
    )
    return after


def _checked(scribe: Scribe, run: Run, chosen: Selection, usable: Collection[int]) -> None:
    found, why = offers(scribe.tx, run.run_id, usable)
    offer = next((offer for offer in found if offer.selection == chosen.selection), None)
    if offer is None:
        raise NotAllowed(why or "This state is not on offer.")
    if chosen.shown_digest != offer.digest:
        raise ShownChanged(run, expected=chosen.shown_digest, found=offer.digest)
    if offer.needs_ack and not chosen.ack:
        raise AckMissing


def _go_back(scribe: Scribe, facts: _Facts, seq: int) -> None:
    """Make the chosen state the newest; what cannot be read is kept, and no part of the run any more."""
    row = next(row for row in facts.states if row["seq"] == seq)
    first = _first_unreadable_after(facts, row)
    for call_id, place in facts.unreadable.items():
        if place < row["seq"]:
            scribe.tx.change("abandon_call", call_id=call_id)
    if first is not None:
        calls.abandon_from(scribe, facts.run.run_id, first)
    children.stop_abandoned(scribe, facts.run.run_id)
    if row is not facts.states[0]:
        checkpoints.save_again(scribe, facts.run.run_id, row)


def waiting(tx: Reader, run_id: RunId) -> str | None:
    """The id of a choice whose chat was not brought to the chosen state yet."""
    row = tx.one("waiting_selection", run_id=run_id)
    return None if row is None else str(row["selection_id"])


def ended(tx: Reader, run_id: RunId) -> bool:
    """Whether the run ended because a person kept the chat as it was."""
    row = tx.one("newest_selection", run_id=run_id)
    return row is not None and row["checkpoint_seq"] is None
