"""Messages of a chat: each is taken in once, and those that came in between wait here until delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from . import checkpoints, codec
from .codec import Body
from .errors import InputConflict, NotAllowed, RunEnded, StaleVersion, UnknownRun
from .ids import ChatId, Digest, InputId, RunId
from .records import Admitted, Input, InputState, ResumePoint, Run
from .runs import by_message, create, load_any, removed_run, stop
from .scribe import Scribe
from .store.base import Reader, Row


def from_row(row: Row) -> Input:
    return Input(
        chat_id=row["chat_id"],
        run_id=row["run_id"],
        input_id=row["input_id"],
        digest=row["digest"],
        content=codec.verified(row["digest"], row["body"], "A waiting message"),
        state=InputState(row["state"]),
        created_at=row["created_at"],
        seq=row["seq"],
    )


def admit(
    scribe: Scribe,
    *,
    chat_id: ChatId,
    input_id: InputId,
    body: Body,
    title: str,
    mode: Body,
    point: ResumePoint,
    claim_waiting: bool,
    check_room: Callable[[], None],
    run_id: RunId | None = None,
) -> Admitted:
    """Take a message in as a new run with its first checkpoint, or answer with the run that has it (I5).

    `check_room` raises where nothing new may begin.
    """
    known = find(scribe.tx, chat_id, input_id)
    if isinstance(known, Run):
        check_same(chat_id, input_id, known.input_digest, body)
        return Admitted(known, repeat=True)
    if known is not None:
        check_same(chat_id, input_id, known.digest, body)
        if not claim_waiting or known.state is InputState.DELIVERED:
            return Admitted(_run_of(scribe.tx, known), repeat=True)
    check_room()
    run = create(scribe, chat_id=chat_id, input_id=input_id, body=body, title=title, mode=mode, run_id=run_id)
    seq = checkpoints.save(scribe, run.run_id, run.token, point)
    if known is not None:
        deliver(scribe, chat_id, [input_id])
    return Admitted(replace(run, checkpoint_seq=seq), repeat=False)


def refuse(scribe: Scribe, run_id: RunId, origin: str) -> Run:
    """An admission that was answered with a refusal: nothing of it ever ran, and its message may come again under its own id."""
    run = load_any(scribe.tx, run_id)
    if run.state.is_final:
        return run
    stopped = stop(scribe, run_id, origin, "")
    scribe.tx.change("free_message", run_id=run_id)
    scribe.tx.change("offer_again", chat_id=run.chat_id, input_id=run.input_id, now=scribe.now)  # a person, or nobody, sends it again
    return stopped


def find(tx: Reader, chat_id: ChatId, input_id: InputId) -> Run | Input | None:
    """The run that this message began, or the record of it as a message in between."""
    run = by_message(tx, chat_id, input_id)
    if run is not None:
        return run
    row = tx.one("input", chat_id=chat_id, input_id=input_id)
    return _buried(tx, chat_id, input_id) if row is None else from_row(row)


def chat_of(tx: Reader, input_id: InputId) -> ChatId | None:
    """The chat that a message with this id was sent to."""
    row = tx.one("chat_of_input", input_id=input_id)
    return None if row is None else ChatId(row["chat_id"])


def _buried(tx: Reader, chat_id: ChatId, input_id: InputId) -> Run | Input | None:
    """What is left of a message whose run was removed: enough to know it again, nothing of what it said."""
    row = tx.one("tombstone", chat_id=chat_id, input_id=input_id)
    if row is None:
        return None
    if row["kind"] == "message":
        return Input(chat_id, row["run_id"], input_id, row["digest"], {}, InputState.DELIVERED, row["created_at"], 0)
    return removed_run(row)


def _run_of(tx: Reader, known: Input) -> Run:
    try:
        return load_any(tx, known.run_id)
    except UnknownRun:
        row = tx.one("tombstone", chat_id=known.chat_id, input_id=known.input_id)
        if row is None:
            raise
        return removed_run(row)


def keep(scribe: Scribe, run_id: RunId, input_id: InputId, body: Body) -> Input:
    """Save a message for a run that has not ended. The same message twice is one message (I5)."""
    run = load_any(scribe.tx, run_id)
    known = find(scribe.tx, run.chat_id, input_id)
    left_over = known if isinstance(known, Input) and known.state is InputState.OFFERED else None
    if known is not None and left_over is None:
        return _same(known, run.chat_id, input_id, body)
    if run.state.is_final:
        raise RunEnded(run)
    seq = scribe.event("input_kept", run_id, input=input_id)
    if left_over is not None:  # by a Stop, and a person sends it now
        check_same(run.chat_id, input_id, left_over.digest, body)
        scribe.tx.change("take_up_input", chat_id=run.chat_id, input_id=input_id, run_id=run_id, seq=seq, now=scribe.now)
        return replace(left_over, run_id=run_id, seq=seq, state=InputState.WAITING)
    scribe.tx.change(
        "add_input",
        chat_id=run.chat_id,
        input_id=input_id,
        run_id=run_id,
        digest=scribe.store(body),
        now=scribe.now,
        seq=seq,
    )
    kept = find(scribe.tx, run.chat_id, input_id)
    assert isinstance(kept, Input)
    return kept


def discard(scribe: Scribe, run_id: RunId, version: int | None, input_id: InputId, origin: str) -> Input:
    """A person does not want a message sent that a Stop left over. Discarded twice is discarded.

    Without a version: it was saved after its sender had heard a refusal. It never counted, and may come again under the same id.
    """
    if version is None:
        return _withdraw(scribe, run_id, input_id)
    run, known = offered(scribe.tx, run_id, version, input_id)
    if known.state is InputState.OFFERED:
        scribe.tx.change("discard_input", chat_id=run.chat_id, input_id=input_id, now=scribe.now)
        scribe.event("input_discarded", run_id, input=input_id, origin=origin)
    return replace(known, state=InputState.DISCARDED)


def _withdraw(scribe: Scribe, run_id: RunId, input_id: InputId) -> Input:
    run = load_any(scribe.tx, run_id)
    known = find(scribe.tx, run.chat_id, input_id)
    if not isinstance(known, Input):
        raise NotAllowed("No message of this name waits here.")
    if scribe.tx.change("withdraw_input", chat_id=run.chat_id, input_id=input_id, run_id=run_id):
        scribe.event("input_withdrawn", run_id, input=input_id)
    return replace(known, state=InputState.DISCARDED)


def offered(tx: Reader, run_id: RunId, version: int, input_id: InputId) -> tuple[Run, Input]:
    """The message that was left over, as it was shown. Refused: there is none, or it was sent meanwhile."""
    run = load_any(tx, run_id)
    if version != run.version:
        raise StaleVersion(run, expected=version)
    known = find(tx, run.chat_id, input_id)
    if not isinstance(known, Input) or known.run_id != run_id or known.state not in (InputState.OFFERED, InputState.DISCARDED):
        raise NotAllowed("No message of this name is left over here.")
    return run, known


def _same(known: Run | Input, chat_id: ChatId, input_id: InputId, body: Body) -> Input:
    if isinstance(known, Input):
        check_same(chat_id, input_id, known.digest, body)
        return known
    check_same(chat_id, input_id, known.input_digest, body)
    return Input(chat_id, known.run_id, input_id, known.input_digest, known.input, InputState.DELIVERED, known.created_at, 0)


def check_same(chat_id: ChatId, input_id: InputId, stored: str, body: Body) -> None:
    if stored != body.digest:
        raise InputConflict(chat_id, input_id, stored=Digest(stored), offered=body.digest)


def deliver(scribe: Scribe, chat_id: ChatId, delivered: Iterable[InputId]) -> None:
    """These messages stand in the history of the checkpoint that is written in the same transaction."""
    for input_id in delivered:
        scribe.tx.change("deliver_input", chat_id=chat_id, input_id=input_id, now=scribe.now)


def waiting(tx: Reader, chat_id: ChatId) -> list[Input]:
    return [from_row(row) for row in tx.all("waiting_inputs", chat_id=chat_id)]


def all_waiting(tx: Reader) -> list[Input]:
    return [from_row(row) for row in tx.all("all_waiting_inputs")]


def of_run(tx: Reader, run_id: RunId) -> list[Input]:
    return [from_row(row) for row in tx.all("inputs_of_run", run_id=run_id)]
