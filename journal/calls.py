"""Intent and result of a call: written before the effect and after it, the first result wins (I1, I2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import codec
from .codec import Body
from .errors import RecordCorrupt, ResultConflict, StaleVersion, UnknownCall
from .evidence import Found
from .ids import CallId, Digest, RunId
from .records import Call, CallKey, CallKind, Outcome, Permission, RunState, changed
from .runs import load, touch
from .scribe import Scribe
from .store.base import Keep, Reader, Row
from .values import Opaque


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to happen, masked and encoded in the caller's thread."""

    key: CallKey
    name: str
    identity: Digest
    arguments: Body
    lossy: bool
    permission: Permission
    extra: Body | None = None


@dataclass(frozen=True)
class Result:
    """What happened, masked and encoded in the caller's thread. `digest` covers outcome, value and error."""

    outcome: Outcome
    value: Body
    lossy: bool
    error: str
    usage: bytes | None = None
    extra: Body | None = None

    @cached_property
    def digest(self) -> Digest:
        return codec.digest(codec.encode([self.outcome.value, self.value.digest, self.error]))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a check answered, masked and encoded in the caller's thread. `result` is that of a call that was done."""

    found: Found
    result: Result
    seen: str


# -- reading ------------------------------------------------------------------------------------


def load_call(tx: Reader, call_id: CallId) -> Call:
    row = tx.one("call", call_id=call_id)
    if row is None:
        raise UnknownCall(call_id)
    return from_row(row)


def at_key(tx: Reader, run_id: RunId, key: CallKey) -> Call | None:
    row = tx.one("call_at_key", run_id=run_id, path=key.path, step=key.step, kind=key.kind.value, ordinal=key.ordinal)
    return None if row is None else load_call(tx, row["call_id"])


def of_run(tx: Reader, run_id: RunId) -> list[Call]:
    """All calls of a run in the order of their intents, abandoned ones too, also those that cannot be read."""
    return [from_row(row) if not row["abandoned"] else _from_abandoned(row) for row in tx.all("calls_of_run", run_id=run_id)]


def readable(tx: Reader, run_id: RunId) -> tuple[list[Row], dict[CallId, int]]:
    """The rows of a run's calls, and the places of those that are part of it and cannot be read."""
    rows = tx.all("calls_of_run", run_id=run_id)
    unreadable = {}
    for row in rows:
        try:
            from_row(row)
        except RecordCorrupt:
            if not row["abandoned"]:
                unreadable[CallId(row["call_id"])] = int(row["seq"])
    return rows, unreadable


def _from_abandoned(row: Row) -> Call:
    """A call that is no part of the run any more: what cannot be read of it stops nobody."""
    try:
        return from_row(row)
    except RecordCorrupt:
        gone = codec.body(Opaque("unreadable", "This record cannot be read."))
        blank = {"extra_digest": None, "result_extra": None, "usage": None, "value_digest": None, "value_body": None}
        return from_row({**row, **blank, "arguments_digest": gone.digest, "arguments_body": gone.data})


def open_calls(tx: Reader, run_id: RunId) -> list[Call]:
    return [from_row(row) for row in tx.all("open_calls_of_run", run_id=run_id)]


def from_row(row: Row) -> Call:
    try:
        return Call(
            call_id=row["call_id"],
            run_id=row["run_id"],
            key=CallKey(row["path"], row["step"], CallKind(row["kind"]), row["ordinal"]),
            name=row["name"],
            identity=row["identity"],
            arguments=codec.verified(row["arguments_digest"], row["arguments_body"], "The arguments of a call"),
            lossy=bool(row["lossy"]),
            permission=Permission(row["policy"], row["source_digest"]),
            attempts=row["attempts"],
            allowance=row["allowance"],
            outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
            value=None if row["value_digest"] is None else codec.verified(row["value_digest"], row["value_body"], "The result of a call"),
            result_digest=row["result_digest"],
            error=row["error"],
            started_at=row["started_at"],
            ended_at=row["ended_at"],
            seq=row["seq"],
            origin=row["origin"],
            abandoned=bool(row["abandoned"]),
            extra=_extra(row),
            usage=None if row["usage"] is None else codec.decode(row["usage"]),
            served=row["served"],
            value_lossy=bool(row["value_lossy"]),
            token=row["token"],
            boot_id=row["boot_id"],
            late_results=row["late_results"],
        )
    except ValueError as error:
        raise RecordCorrupt(f"Call {row['call_id']}: {error}") from error


def _extra(row: Row) -> dict[str, Any]:
    """What is kept beside a call: of its intent, and of its result."""
    found: dict[str, Any] = {}
    for name, body in (("extra_digest", "extra_body"), ("result_extra", "result_extra_body")):
        if row[name] is not None:
            value = codec.verified(row[name], row[body], "A part of a call")
            if not isinstance(value, dict):
                raise RecordCorrupt("A part of a call has the wrong shape.")
            found |= value
    return found


# -- intent -------------------------------------------------------------------------------------


def begin(scribe: Scribe, run_id: RunId, token: int, intent: Intent, *, dispatched: bool = True, event: str = "call_begun") -> Call:
    """Record an intent at a free place. Not `dispatched`: it is recorded so that a person can decide, nothing starts."""
    call_id = CallId(scribe.ids.new("call"))
    seq = scribe.event(event if dispatched else "call_withheld", run_id, call_id=call_id)
    key = intent.key
    scribe.tx.change(
        "add_call",
        call_id=call_id,
        run_id=run_id,
        path=key.path,
        step=key.step,
        kind=key.kind.value,
        ordinal=key.ordinal,
        name=intent.name,
        identity=intent.identity,
        arguments_digest=scribe.store(intent.arguments),
        extra_digest=scribe.store(intent.extra) if intent.extra else None,
        lossy=int(intent.lossy),
        policy=intent.permission.policy,
        source_digest=intent.permission.source_digest,
        attempts=int(dispatched),
        token=token if dispatched else 0,
        seq=seq,
        now=scribe.now,
        boot_id=scribe.boot_id,
    )
    call = Call(
        call_id=call_id,
        run_id=run_id,
        key=key,
        name=intent.name,
        identity=intent.identity,
        arguments=intent.arguments.value,
        lossy=intent.lossy,
        permission=intent.permission,
        attempts=int(dispatched),
        allowance=0,
        outcome=None,
        value=None,
        result_digest=None,
        error="",
        started_at=scribe.now,
        ended_at=None,
        seq=seq,
        origin="ran",
        abandoned=False,
        extra=intent.extra.value if intent.extra else {},
        token=token if dispatched else 0,
        boot_id=scribe.boot_id,
    )
    if dispatched:
        scribe.begun[call_id] = call
    return call


def again(scribe: Scribe, call: Call, token: int, reason: str) -> Call:
    """One more attempt: `allowed` by a person, which is used up now, before the effect, or a `replay` by policy."""
    seq = scribe.event("call_begun_again", call.run_id, call_id=call.call_id, reason=reason)
    scribe.tx.change("keep_attempt", call_id=call.call_id)
    hit = scribe.tx.change(
        "begin_again",
        call_id=call.call_id,
        attempts=call.attempts,
        allowance=call.allowance,
        used=int(reason == "allowed"),
        token=token,
        now=scribe.now,
        boot_id=scribe.boot_id,
    )
    _expect_one(scribe, call, hit)
    scribe.tx.change(
        "add_attempt",
        call_id=call.call_id,
        number=call.attempts + 1,
        reason=reason,
        token=token,
        seq=seq,
        boot_id=scribe.boot_id,
        now=scribe.now,
    )
    scribe.begun[call.call_id] = begun = load_call(scribe.tx, call.call_id)
    return begun


def serve(scribe: Scribe, call: Call, *, event: str = "call_served") -> Call:
    scribe.tx.change("count_served", call_id=call.call_id)
    scribe.event(event, call.run_id, call_id=call.call_id)
    return changed(call, served=call.served + 1)


# -- result -------------------------------------------------------------------------------------


def finish(scribe: Scribe, call_id: CallId, result: Result) -> Call | Keep:
    """The first result wins; the same again is a no-op; another one is kept beside it and refused.

    When the run has ended, or works under a newer token, what comes is a late result: kept, and nothing changes.
    """
    known = scribe.begun.pop(call_id, None)
    if known is not None and _write(scribe, known, result, "ran", living=True):
        return _with_result(known, result, scribe.now)
    call = load_call(scribe.tx, call_id)
    if call.result_digest == result.digest:
        return call
    held = _run_of(scribe, call)[0] is RunState.HELD
    if is_late(scribe, call) or (held and result.outcome is Outcome.UNKNOWN):
        keep_beside(scribe, call, "late_result", result)
        return load_call(scribe.tx, call_id)
    if call.result_digest is not None:
        keep_beside(scribe, call, "late_result", result)
        return Keep(ResultConflict(call_id, stored=call.result_digest, offered=result.digest))
    record(scribe, call, result)
    if held:
        touch(scribe, load(scribe.tx, call.run_id), "result_while_held", call_id=call_id)
    return load_call(scribe.tx, call_id)


def is_late(scribe: Scribe, call: Call) -> bool:
    """Whether a result of this call would change nothing any more: its run has ended, or works under a newer token."""
    state, token = _run_of(scribe, call)
    return call.abandoned or state.is_final or call.token != token


def _run_of(scribe: Scribe, call: Call) -> tuple[RunState, int]:
    run = scribe.tx.one("run_fence", run_id=call.run_id)
    assert run is not None
    return RunState(run["state"]), int(run["token"])


def _with_result(call: Call, result: Result, now: int) -> Call:
    """The call as it was just written."""
    return changed(
        call,
        outcome=result.outcome,
        value=result.value.value,
        value_lossy=result.lossy,
        result_digest=result.digest,
        error=result.error,
        ended_at=now,
        extra=call.extra | (result.extra.value if result.extra else {}),
        usage=None if result.usage is None else codec.decode(result.usage),
    )


def record(scribe: Scribe, call: Call, result: Result, *, origin: str = "ran") -> None:
    """Give an open call its result, or say that somebody else changed it."""
    _expect_one(scribe, call, _write(scribe, call, result, origin))


def _write(scribe: Scribe, call: Call, result: Result, origin: str, *, living: bool = False) -> int:
    """One guarded update; no row means that the call, or with `living` its run, is not as the caller knows it."""
    hit = scribe.tx.change(
        "finish_call",
        call_id=call.call_id,
        attempts=call.attempts,
        token=call.token,
        outcome=result.outcome.value,
        value_digest=scribe.store(result.value),
        value_lossy=int(result.lossy),
        result_digest=result.digest,
        result_extra=scribe.store(result.extra) if result.extra else None,
        error=result.error,
        usage=result.usage,
        origin=origin,
        living=int(living),
        now=scribe.now,
    )
    if hit:
        scribe.event("call_finished", call.run_id, call_id=call.call_id, outcome=result.outcome.value)
    return hit


def keep_beside(scribe: Scribe, call: Call, kind: str, result: Result) -> None:
    """Keep as evidence what is not, or is no longer, the call's result."""
    seq = scribe.event(kind, call.run_id, call_id=call.call_id, outcome=result.outcome.value)
    scribe.tx.change(
        "add_evidence",
        call_id=call.call_id,
        kind=kind,
        outcome=result.outcome.value,
        value_digest=scribe.store(result.value),
        result_digest=result.digest,
        error=result.error,
        seq=seq,
        now=scribe.now,
    )


def keep_finding(scribe: Scribe, call: Call, evidence: Evidence) -> None:
    """Keep what a check answered about an open call. The same answer again is one row, each asking is an event."""
    result, found = evidence.result, evidence.found.value
    seq = scribe.event("call_checked", call.run_id, call_id=call.call_id, found=found)
    scribe.tx.change(
        "add_evidence",
        call_id=call.call_id,
        kind="check",
        outcome=found,
        value_digest=scribe.store(result.value),
        result_digest=codec.digest(codec.encode([found, result.digest, evidence.seen])),
        error=evidence.seen,
        seq=seq,
        now=scribe.now,
    )


def set_result_aside(scribe: Scribe, call: Call) -> Call:
    """A person decides about a result that cannot be served: it becomes evidence, and the call is open again."""
    if call.outcome is None:
        return call
    keep_beside(scribe, call, "set_aside", Result(call.outcome, codec.body(call.value), call.value_lossy, call.error))
    _expect_one(scribe, call, scribe.tx.change("reopen_call", call_id=call.call_id, result_digest=call.result_digest))
    return load_call(scribe.tx, call.call_id)


def allow(scribe: Scribe, call: Call, more: int) -> None:
    """Let a person's word count: so many attempts, each used up before it begins."""
    hit = scribe.tx.change("allow_call", call_id=call.call_id, attempts=call.attempts, allowance=more)
    _expect_one(scribe, call, hit)
    scribe.event("call_allowed", call.run_id, call_id=call.call_id, attempts=more)


def abandon_from(scribe: Scribe, run_id: RunId, seq: int) -> None:
    """Keep the records from this place on, but not as part of the run."""
    count = scribe.tx.change("abandon_calls", run_id=run_id, seq=seq)
    scribe.event("calls_abandoned", run_id, since=seq, count=count)


def _expect_one(scribe: Scribe, call: Call, hit: int) -> None:
    if hit != 1:
        raise StaleVersion(load(scribe.tx, call.run_id))
