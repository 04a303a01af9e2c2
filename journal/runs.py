"""The run: its states, its moves, and who may write for it.

Every move is one guarded update that hits exactly one row, raises the version, and appends an event in the same
transaction. Nothing here looks at calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from . import codec
from .codec import Body
from .errors import ChatBusy, NotRunning, RecordCorrupt, RunEnded, StaleVersion, UnknownRun
from .ids import CallId, ChatId, InputId, RunId
from .records import Claim, Hold, HoldReason, Run, RunState
from .scribe import Scribe
from .store.base import Reader, Row

FIRST_TOKEN = 1
"""The token under which a run is admitted."""

MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.HELD, RunState.STOPPED}),
    RunState.RUNNING: frozenset({RunState.QUEUED, RunState.HELD, RunState.COMPLETED, RunState.FAILED, RunState.STOPPED}),
    RunState.HELD: frozenset({RunState.QUEUED, RunState.STOPPED}),
}  # the other states are final: they have no way out

# -- reading ------------------------------------------------------------------------------------


def load(tx: Reader, run_id: RunId) -> Run:
    """The run, whole. Raises UnknownRun, or RecordCorrupt if any part of it cannot be read."""
    return from_row(_row(tx, run_id))


def load_any(tx: Reader, run_id: RunId) -> Run:
    """The run, as much of it as can be read: `damaged` says what cannot."""
    return from_row_any(_row(tx, run_id))


def _row(tx: Reader, run_id: RunId) -> Row:
    row = tx.one("run", run_id=run_id)
    if row is None:
        raise UnknownRun(run_id)
    return row


def from_row(row: Row) -> Run:
    try:
        content = codec.verified(row["input_digest"], row["input_body"], "The message of this run")
        if not isinstance(content, dict):
            raise RecordCorrupt("The message of this run has the wrong shape.")
        answer = None
        if row["answer_digest"] is not None:
            answer = codec.verified(row["answer_digest"], row["answer_body"], "The answer of this run")
        return _run(row, content, _dict(row["mode"]), _hold(row), answer)
    except ValueError as error:
        raise RecordCorrupt(f"Run {row['run_id']}: {error}") from error


def from_row_any(row: Row) -> Run:
    try:
        return from_row(row)
    except RecordCorrupt as error:
        reason = row["hold_reason"]
        hold = None if reason is None else Hold(HoldReason.CHECKPOINT_CORRUPT, None, "", {}, row["hold_since"] or 0)
        return replace(_run(row, {}, {}, hold, None), damaged=error.what)


def _run(row: Row, content: dict[str, Any], mode: dict[str, Any], hold: Hold | None, answer: Any) -> Run:
    return Run(
        run_id=row["run_id"],
        chat_id=row["chat_id"],
        parent_call_id=row["parent_call_id"],
        input_id=row["input_id"],
        input_digest=row["input_digest"],
        input=content,
        title=row["title"],
        state=RunState(row["state"]),
        version=row["version"],
        token=row["token"],
        mode=mode,
        hold=hold,
        recoveries=row["recoveries"],
        answer=answer,
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        boot_id=row["boot_id"],
        checkpoint_seq=row["checkpoint_seq"],
    )


def _hold(row: Row) -> Hold | None:
    if row["hold_reason"] is None:
        return None
    return Hold(HoldReason(row["hold_reason"]), row["hold_call_id"], row["hold_text"], _dict(row["hold_facts"]), row["hold_since"])


def _dict(data: bytes | None) -> dict[str, Any]:
    value = codec.decode(data) if data is not None else {}
    if not isinstance(value, dict):
        raise RecordCorrupt("A record has the wrong shape.")
    return value


def of_chat(tx: Reader, chat_id: ChatId) -> list[Run]:
    return [from_row_any(row) for row in tx.all("runs_of_chat", chat_id=chat_id)]


def ended_in_last_boot(tx: Reader, boot_id: str) -> list[Run]:
    """Newest runs of their chats that ended in the last process in which any run ended."""
    return [from_row_any(row) for row in tx.all("ended_in_last_boot", boot_id=boot_id)]


def mode_of(tx: Reader, run_id: RunId) -> dict[str, Any]:
    """What was chosen for this run when it was admitted."""
    row = tx.one("mode_of_run", run_id=run_id)
    if row is None:
        raise UnknownRun(run_id)
    return _dict(row["mode"])


def was_released(tx: Reader, run_id: RunId) -> bool:
    """Whether a person let this run go on, and nothing has taken it up since."""
    row = tx.one("last_move_of_run", run_id=run_id)
    return row is not None and row["kind"] == "run_released"


def chat_of(tx: Reader, run_id: RunId) -> ChatId:
    row = tx.one("run_fence", run_id=run_id)
    if row is None:
        raise UnknownRun(run_id)
    return ChatId(row["chat_id"])


def unfinished(tx: Reader) -> list[Run]:
    return [from_row_any(row) for row in tx.all("unfinished_runs")]


def by_message(tx: Reader, chat_id: ChatId, input_id: InputId) -> Run | None:
    row = tx.one("run_of_message", chat_id=chat_id, input_id=input_id)
    return None if row is None else from_row_any(row)


def removed_run(row: Row) -> Run:
    """A run of which only the tombstone is left."""
    return Run(
        run_id=row["run_id"],
        chat_id=row["chat_id"],
        parent_call_id=None,
        input_id=row["input_id"],
        input_digest=row["digest"],
        input={},
        title="",
        state=RunState(row["state"]),
        version=0,
        token=0,
        mode={},
        hold=None,
        recoveries=0,
        answer=None,
        created_at=row["created_at"],
        changed_at=row["ended_at"],
        boot_id="",
        checkpoint_seq=0,
        is_removed=True,
    )


# -- writing ------------------------------------------------------------------------------------


def create(
    scribe: Scribe,
    *,
    chat_id: ChatId,
    input_id: InputId,
    body: Body,
    title: str,
    mode: Body,
    run_id: RunId | None,
    parent: CallId | None = None,
) -> Run:
    """A new run, running, with the first token. A root run raises ChatBusy while the chat has an unfinished one (I5)."""
    busy = None if parent else scribe.tx.one("unfinished_run_of_chat", chat_id=chat_id)
    if busy is not None:
        raise ChatBusy(from_row_any(busy))
    run_id = run_id or RunId(scribe.ids.new("run"))
    scribe.tx.change("add_chat", chat_id=chat_id, now=scribe.now)
    scribe.tx.change(
        "add_run",
        run_id=run_id,
        chat_id=chat_id,
        parent_call_id=parent,
        input_id=input_id,
        input_digest=scribe.store(body),
        title=title,
        mode=mode.data,
        token=FIRST_TOKEN,
        now=scribe.now,
        boot_id=scribe.boot_id,
    )
    scribe.event("run_admitted", run_id, version=1)
    return Run(
        run_id=run_id,
        chat_id=chat_id,
        parent_call_id=parent,
        input_id=input_id,
        input_digest=body.digest,
        input=body.value,
        title=title,
        state=RunState.RUNNING,
        version=1,
        token=FIRST_TOKEN,
        mode=mode.value,
        hold=None,
        recoveries=0,
        answer=None,
        created_at=scribe.now,
        changed_at=scribe.now,
        boot_id=scribe.boot_id,
        checkpoint_seq=0,
    )


def move(
    scribe: Scribe,
    run: Run,
    state: RunState,
    event: str,
    *,
    hold: Hold | None = None,
    token: int | None = None,
    recoveries: int | None = None,
    answer: Body | None = None,
    **facts: Any,
) -> Run:
    """One guarded update, version + 1, one event. Also for changes that stay in the same state."""
    if run.state.is_final:
        raise RunEnded(run)
    if state is not run.state and state not in MOVES[run.state]:
        raise NotRunning(run, token=run.token)
    if hold is not None and not hold.since:
        hold = replace(hold, since=scribe.now)
    after = replace(
        run,
        state=state,
        version=run.version + 1,
        token=run.token if token is None else token,
        recoveries=run.recoveries if recoveries is None else recoveries,
        answer=run.answer if answer is None else answer.value,
        hold=hold,
        changed_at=run.changed_at if state is run.state else scribe.now,
    )
    hit = scribe.tx.change(
        "move_run",
        run_id=run.run_id,
        old_state=run.state.value,
        old_version=run.version,
        state=state.value,
        token=after.token,
        recoveries=after.recoveries,
        answer_digest=scribe.store(answer) if answer else None,
        hold_reason=hold.reason.value if hold else None,
        hold_call_id=hold.call_id if hold else None,
        hold_text=hold.text if hold else "",
        hold_facts=codec.encode(hold.facts) if hold else None,
        hold_since=hold.since if hold else None,
        now=scribe.now,
    )
    if hit != 1:
        raise StaleVersion(load_any(scribe.tx, run.run_id), expected=run.version)
    call_id = hold.call_id if hold else None
    scribe.event(event, run.run_id, call_id=call_id, version=after.version, **facts)
    if state.is_final:
        for begun in [each.call_id for each in scribe.begun.values() if each.run_id == run.run_id]:
            del scribe.begun[begun]
    return load_any(scribe.tx, run.run_id) if run.damaged else after


def enter(scribe: Scribe, run_id: RunId, token: int) -> int:
    """The guard before every write of a living run: it runs, and this token is the current one (I11).

    Answers how often it was continued since it last made progress.
    """
    row = scribe.tx.one("run_fence", run_id=run_id)
    if row is None or row["state"] != RunState.RUNNING.value or row["token"] != token:
        raise NotRunning(load_any(scribe.tx, run_id), token=token)
    return int(row["recoveries"])


def check(run: Run, token: int) -> None:
    """The same guard for a run that is loaded already."""
    if run.state is not RunState.RUNNING or run.token != token:
        raise NotRunning(run, token=token)


def progressed(scribe: Scribe, run_id: RunId) -> None:
    """Something new happened: the run is no suspect any more."""
    scribe.tx.change("clear_recoveries", run_id=run_id)


def touch(scribe: Scribe, run: Run, event: str, *, call_id: CallId | None = None) -> Run:
    """What a person sees of a held run changed: forms that show it are stale."""
    return move(scribe, run, run.state, event, hold=run.hold, call=call_id)


def hold(scribe: Scribe, run_id: RunId, why: Hold) -> Run:
    """Let a run wait for a person. A run that waits already keeps its first reason."""
    run = load_to_hold(scribe, run_id, why)
    if run.state is RunState.HELD:
        return run
    return move(scribe, run, RunState.HELD, "run_held", hold=why, recoveries=0, reason=why.reason.value)


def load_to_hold(scribe: Scribe, run_id: RunId, why: Hold) -> Run:
    """A run that cannot be read can still be held, for just that (I9)."""
    return load_any(scribe.tx, run_id) if why.reason is HoldReason.CHECKPOINT_CORRUPT else load(scribe.tx, run_id)


def stop(scribe: Scribe, run_id: RunId, origin: str, note: str) -> Run:
    """Stop wins in every unfinished state, also for a run that cannot be read. Stopped twice is stopped."""
    run = load_any(scribe.tx, run_id)
    if run.state is RunState.STOPPED:
        return run
    stopped = move(scribe, run, RunState.STOPPED, "run_stopped", origin=origin, note=note)
    scribe.tx.change("offer_inputs", chat_id=run.chat_id, now=scribe.now)
    return stopped


def claim(scribe: Scribe, run_id: RunId) -> Claim:
    """Continue a queued run under a new token; everything recorded so far lies below the cursor.

    From here until it is past its cursor the run is in hand: that is counted in the same transaction (I10).
    """
    run = load(scribe.tx, run_id)
    if run.state is not RunState.QUEUED:
        raise StaleVersion(run)
    run = move(scribe, run, RunState.RUNNING, "run_claimed", token=run.token + 1, recoveries=run.recoveries + 1)
    return Claim(run, run.token, scribe.tx.place())


def stops_untold(tx: Reader) -> list[Run]:
    """Newest runs of their chats that a person ended and whose chat was not told before the process ended."""
    return [from_row_any(row) for row in tx.all("stops_untold")]


def newest_ids(tx: Reader) -> list[str]:
    """The last ids that earlier processes made."""
    return [row["id"] for row in tx.all("newest_ids") if row["id"] is not None]


def head(tx: Reader) -> int:
    row = tx.one("head")
    return 0 if row is None else int(row["seq"])
