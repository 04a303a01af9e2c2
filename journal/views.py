"""What the panel sees of a run: JSON-ready, masked, in plain words. Shapes are described in docs/api.md.

Reads only, decides nothing: what is allowed comes from decisions.py, with its reason. Whatever a run contains is
masked again, before it is cut: a secret may have become known only after it was stored (I8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import children, codec, decisions, grants, inputs, preview, runs, spent, timeline
from .attempts import NOT_LOADED
from .errors import RecordCorrupt
from .evidence import FROM_CHECK, Found
from .ids import RunId
from .masking import Masker
from .modes import DEFAULTS
from .preview import Consequence, Foreseen, Outlook
from .records import CALLER_GONE, REQUESTS, Call, HoldReason, Input, InputState, Outcome, Run, RunState
from .replay import KEY_UNTIL, idempotency_key
from .store.base import Reader, Row
from .texts import result_text, shown, summary

REASONS: Mapping[HoldReason, str] = {
    HoldReason.OUTCOME_UNKNOWN: "A step was started; no result was saved. It may have happened. Nothing was repeated.",
    HoldReason.NOT_SERVABLE: "A saved result cannot be handed to the run again. Nothing was repeated.",
    HoldReason.MODEL_INTERRUPTED: "A model call was cut off. No answer was saved. Nothing was sent again.",
    HoldReason.DIVERGED: "The run wants something else here than what is recorded. Nothing was started.",
    HoldReason.UNRECORDED_STEP: "A step passed without a record. Nothing was repeated.",
    HoldReason.MASKED_VALUE_LOST: "This step needs a hidden value that was not saved. Nothing was started.",
    HoldReason.CRASH_LOOP: "The server ended three times while it continued this run. Nothing was repeated.",
    HoldReason.ASK: "This run asks before it continues after a restart. Nothing was repeated.",
    HoldReason.WORLD_DRIFT: "Something outside changed since the last saved step. Nothing was repeated.",
    HoldReason.RESTORED: "The journal was restored from an earlier state. Nothing was repeated.",
    HoldReason.CHAT_MOVED_ON: "The chat went on without this record. Nothing was overwritten.",
    HoldReason.CHAT_GONE: "The chat of this run is gone. Nothing was brought back.",
    HoldReason.CHECKPOINT_CORRUPT: "The saved state of this run cannot be read. The run is left exactly as it was.",
}

_CALLER_GONE = "The program that asked for it does not wait for the answer any more."
_NOT_LOADED = "Its chat was not loaded: The server ended three times while it was. A decision loads it again."

_ENDED: Mapping[Outcome, tuple[str, str]] = {
    Outcome.OK: ("saved", "Result saved"),
    Outcome.ERROR: ("error", "Error of the step saved"),
    Outcome.UNKNOWN: ("unknown", "It may have happened. The model was told so."),
    Outcome.INTERRUPTED: ("interrupted", "Interrupted by a message. It may still be running."),
    Outcome.SUPERSEDED: ("superseded", "Replaced before it answered"),
    Outcome.CONFIRMED: ("confirmed", "A person said that it happened"),
}

_KEPT: Mapping[str, tuple[str, str]] = {
    "check": ("check", ""),
    "late_result": ("late result", "Another result came later. It is kept, and changed nothing."),
    "set_aside": ("set aside", "This result was set aside by a decision."),
}
_FOUND: Mapping[str, str] = {
    Found.DONE.value: "It has happened.",
    Found.NOT_DONE.value: "It has not happened.",
    Found.UNKNOWN.value: "This could not be told.",
}
_MOST_KEPT = 100

_EVENTS: Mapping[str, str] = {
    "run_admitted": "The message was taken in.",
    "run_held": "The run was put on hold.",
    "run_queued": "The run waits for its turn.",
    "run_claimed": "The run goes on.",
    "run_released": "The run may go on.",
    "run_suspended": "The run was suspended: nothing new is started.",
    "run_interrupted": "The task was ended by a person.",
    "run_stopped": "The run was stopped.",
    "run_completed": "The run ended with an answer.",
    "run_failed": "The run ended with an error.",
    "recovery_begun": "An attempt to continue began.",
    "recovery_ended": "The chat was loaded.",
    "call_decided": "One step was decided.",
    "decided": "A decision was recorded.",
    "state_chosen": "The state to go on from was chosen.",
    "state_restored": "The chat was brought to the chosen state.",
    "granted": "More attempts were allowed.",
    "late_result": "A result came late and was kept beside the record.",
    "call_checked": "A check looked whether a step had happened.",
    "set_aside": "A saved result was set aside by a decision.",
    "calls_abandoned": "Later records were kept, but are not part of the run any more.",
    "result_while_held": "A result came while the run was on hold.",
    "call_withheld": "A step was not started: it needs a hidden value.",
    "input_discarded": "A message that was left over was discarded.",
    "input_kept": "A message was kept for this run.",
    "input_withdrawn": "It was not taken in after all: the journal answered too late, and its sender was told so.",
}
"""Events of single steps are not listed: the timeline shows them."""


def reason(code: str, text: str, facts: Mapping[str, Any]) -> dict[str, str]:
    """Why a run waits, in words."""
    known = code in HoldReason._value2member_map_
    said = text or (REASONS[HoldReason(code)] if known else "The record cannot be read.")
    more = [_CALLER_GONE] if CALLER_GONE in facts else []
    if NOT_LOADED in facts and code != HoldReason.CRASH_LOOP.value:
        more.append(_NOT_LOADED)
    return {"code": code, "text": " ".join([said, *more])}


def facts(stored: bytes | None) -> Mapping[str, Any]:
    try:
        value = codec.decode(stored) if stored is not None else {}
    except RecordCorrupt:
        return {}  # the run's own view says what is damaged
    return value if isinstance(value, dict) else {}


# -- one run ------------------------------------------------------------------------------------


def place(tx: Reader, run_id: RunId, chat_id: str, title: str, parent_call_id: str | None, masker: Masker) -> dict[str, Any]:
    """Where a person finds it. A child stands in the chat and under the title of the run at its top."""
    top = None if parent_call_id is None else tx.one("root_of", run_id=run_id)
    if top is None:
        return {"title": masker.text(title), "chat_id": chat_id, "parent": None, "job": None}
    parent = {"run_id": top["run_id"], "call_id": top["call_id"], "state": top["state"]}
    return {"title": masker.text(top["title"]), "chat_id": top["chat_id"], "parent": parent, "job": job(runs.load_any(tx, run_id), masker)}


def job(child: Run, masker: Masker) -> dict[str, Any]:
    """Which of the jobs of its parent call it is; `chat_id` is where it works, which is a chat of its own or its parent's."""
    told = masker.mask(child.input).value
    name = told.get("name", "") if isinstance(told, dict) else ""
    return {
        "n": children.place_of(child) + 1,
        "job_id": str(child.input.get(children.JOB_ID, "")),
        "name": str(name),
        "chat_id": child.chat_id,
    }


def run_view(tx: Reader, run_id: RunId, *, masker: Masker, boot_id: str, outlook: Outlook) -> dict[str, Any]:
    """Everything about one run. What cannot be read is said, never skipped over in silence."""
    run, all_calls = decisions.read(tx, run_id)
    try:
        messages = [_message(item, masker) for item in inputs.of_run(tx, run_id) if item.state is not InputState.DELIVERED]
    except RecordCorrupt as error:
        run, messages = replace(run, damaged=run.damaged or error.what), []
    kept = _kept(tx, run_id)
    below = [runs.from_row_any(row) for row in tx.all("children_of_run", run_id=run_id)]
    waits = {child.parent_call_id for child in below if not child.state.is_final}
    asked = {call.call_id for call in decisions.asked_calls(run, all_calls)}
    views = [
        call_view(call, number, run, masker, boot_id, kept.get(call.call_id, ()), waits=call.call_id in waits)
        | {"marks": timeline.marks(call, run, boot_id, asked, waits=call.call_id in waits)}
        for number, call in enumerate(all_calls, 1)
    ]
    return {
        "run": run_summary(run, masker) | place(tx, run.run_id, run.chat_id, run.title, run.parent_call_id, masker),
        "mode": {name: run.mode.get(name, default) for name, default in DEFAULTS.items()},
        "calls": views,
        "children": [_child(child, masker) for child in below],
        **spent.view(tx, run_id, boot_id, masker),
        "breaks": timeline.breaks(tx, run_id, all_calls),
        "decisions": [_offer(offer) for offer in decisions.offers(run, all_calls, outlook)],
        "grants": [_grant(run, call, all_calls, outlook) for call in all_calls if grants.grantable(run, call)],
        "recorded": [_recorded(row, masker) for row in tx.all("recorded_of_run", run_id=run_id)],
        "messages": messages,
        "processes": [],
        "events": _events(tx, run_id),
        "checked_at": outlook.at,
    }


def _child(child: Run, masker: Masker) -> dict[str, Any]:
    shown_run = run_summary(child, masker)
    kept = ("run_id", "version", "state", "since", "reason")
    return {**{key: shown_run[key] for key in kept}, "call_id": child.parent_call_id, "job": job(child, masker)}


def run_summary(run: Run, masker: Masker) -> dict[str, Any]:
    why = reason(run.hold.reason.value, masker.text(run.hold.text), run.hold.facts) if run.hold else None
    if run.damaged:
        why = {"code": HoldReason.CHECKPOINT_CORRUPT.value, "text": f"A record of this run cannot be read. {run.damaged}"}
    return {
        "run_id": run.run_id,
        "version": run.version,
        "state": run.state.value,
        "title": masker.text(run.title),
        "chat_id": run.chat_id,
        "since": run.hold.since if run.hold else run.changed_at,
        "created_at": run.created_at,
        "reason": why,
    }


def call_view(
    call: Call, number: int, run: Run, masker: Masker, boot_id: str, kept: Sequence[Row] = (), *, waits: bool = False
) -> dict[str, Any]:
    status, text = status_of(call, run, boot_id)
    if waits and call.outcome is None:
        status, text = "running", "Waits for its jobs, which have records of their own"
    arguments = masker.mask(call.arguments).value
    took = timeline.took(call.outcome, call.started_at, call.ended_at)
    return {
        "call_id": call.call_id,
        "n": number,
        "path": call.key.path,
        "kind": call.key.kind.value,
        "name": call.name,
        "summary": summary(call.key.kind, call.name, arguments),
        "arguments_masked": shown(arguments),
        "status": status,
        "outcome": call.outcome.value if call.outcome else "open",
        "text": text,
        "evidence": [*_evidence(call), *(_beside(row, masker) for row in kept)],
        "at": call.started_at,
        "ended_at": call.ended_at,
        "took_ms": took,
        "saved": spent.saved(call.served, took, call.usage),
        "attempts": call.attempts,
        "abandoned": call.abandoned,
        "error": masker.text(call.error),
        "result_text": None if call.outcome is None or call.value is None else result_text(call.value, masker),
    }


def status_of(call: Call, run: Run, boot_id: str) -> tuple[str, str]:
    """One word and one sentence: what is known about this call."""
    if call.outcome is None:
        if call.attempts == 0:
            return "unknown", "Not started: it needs a hidden value that was not saved"
        if run.state is RunState.RUNNING and (call.token, call.boot_id) == (run.token, boot_id):
            return "running", "Running now"
        if call.allowance:
            return "unknown", f"May run again, at most {call.allowance} more"
        return "unknown", "Started, no result saved"
    status, text = _ENDED[call.outcome]
    if call.outcome in (Outcome.OK, Outcome.ERROR):
        if call.served:
            return ("reused" if status == "saved" else status), f"{text}, reused"
        if not run.state.is_final and not call.abandoned:
            return status, f"{text}, will be reused"
    return status, text


def _evidence(call: Call) -> list[dict[str, str]]:
    found = []
    if call.outcome is None and not call.key.kind.is_inference:
        on_list = call.permission.policy is not None
        found.append({"what": "policy", "text": f"{'On' if on_list else 'Not on'} the list of steps that may be repeated"})
    if call.extra.get(KEY_UNTIL):
        found.append({"what": "idempotency key", "text": idempotency_key(call)})
    if call.extra.get(FROM_CHECK):
        found.append({"what": "check", "text": "A check found that it had happened, and handed in the result"})
    if call.lossy or call.value_lossy:
        found.append({"what": "hidden values", "text": "A secret was left out and cannot be put back"})
    if call.attempts > 1:
        found.append({"what": "attempts", "text": f"Begun {call.attempts} times"})
    if requests := call.extra.get(REQUESTS):
        found.append({"what": "requests", "text": f"The provider was asked {requests} times in this call"})
    if call.abandoned:
        found.append({"what": "record", "text": "Kept, but not part of the run any more"})
    return found


def _kept(tx: Reader, run_id: RunId) -> dict[str, list[Row]]:
    """What was kept beside the calls of a run, by call, the oldest first."""
    found: dict[str, list[Row]] = {}
    for row in tx.all("evidence_of_run", run_id=run_id, most=_MOST_KEPT):
        found.setdefault(row["call_id"], []).append(row)
    return found


def _beside(row: Row, masker: Masker) -> dict[str, str]:
    """What a check saw, or what a result said that is not, or no longer, the call's."""
    what, sentence = _KEPT.get(row["kind"], (row["kind"], ""))
    if row["kind"] == "check":
        sentence, said = _FOUND.get(row["outcome"], ""), masker.text(row["error"])
    else:
        said = masker.text(row["error"]) or _value_text(row, masker)
    return {"what": what, "text": str(shown(f"{sentence} {said}".strip()))}


def _value_text(row: Row, masker: Masker) -> str:
    if row["value_digest"] is None:
        return ""
    try:
        value = codec.verified(row["value_digest"], row["value_body"], "What was kept")
    except RecordCorrupt as error:
        return error.what
    return "" if value is None else result_text(value, masker) or "(too long to be shown)"


def _offer(offer: decisions.Offer) -> dict[str, Any]:
    return {
        "id": offer.choice.value,
        "call_id": offer.call_id,
        "digest": offer.digest,
        "allowed": offer.allowed,
        "reason": offer.why,
        "needs_note": offer.needs_note,
        "needs_ack": offer.needs_ack,
        "preview": offer.preview,
        **_foreseen(offer.steps, offer.then),
    }


def _grant(run: Run, call: Call, all_calls: Sequence[Call], outlook: Outlook) -> dict[str, Any]:
    consequence = Consequence(allowed=call.call_id)
    steps = preview.foresee(run, all_calls, consequence, outlook)
    shown_so = _foreseen(steps, preview.then(steps, consequence))
    return {"call_id": call.call_id, "allowed": True, "reason": "", "most": grants.MOST_ATTEMPTS, **shown_so}


def _foreseen(steps: Sequence[Foreseen], then: str) -> dict[str, Any]:
    """What will happen, call by call; a row of saved results is one entry."""
    rows = [{"n": s.n, "to": to, "call_id": s.call.call_id, "what": s.fate.value, "text": s.text} for s, to in preview.compact(steps)]
    return {"steps": rows, "then": then}


def _recorded(row: Row, masker: Masker) -> dict[str, Any]:
    return {**row, "note": masker.text(row["note"]), "origin": masker.text(row["origin"])}


def _message(item: Input, masker: Masker) -> dict[str, Any]:
    content = masker.mask(item.content).value
    text = content.get("text", "")
    return {
        "input_id": item.input_id,
        "text": shown(text if isinstance(text, str) else content),
        "state": item.state.value,
        "at": item.created_at,
    }


def _events(tx: Reader, run_id: RunId) -> list[dict[str, Any]]:
    rows = tx.all("events_of_run", run_id=run_id)
    return [{"at": row["at"], "text": _EVENTS[row["kind"]]} for row in rows if row["kind"] in _EVENTS]
