"""Child runs: what a call of a run started beside it (I4, I5). Each has calls, holds and decisions of its own.

A child is known by its parent call and its place there, so that the call, run again after a crash, finds what it
started. A parent is not held by a child's hold: its call stays open and waits. Stop goes down, never up.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import calls, codec, runs
from .codec import Body
from .errors import InputConflict, NotRunning
from .ids import CallId, ChatId, InputId, RunId
from .records import Admitted, Call, ChildOrder, Run
from .scribe import Scribe
from .store.base import Reader

JOB_ID = "job_id"
"""In a child's message: the name under which its parent knows it. No part of what makes it the same child."""

OF_PARENT = "stopped with the run that started it"


def message_id(call_id: CallId, index: int) -> InputId:
    """The same for the same place of a call, in every process."""
    return InputId(f"{call_id}/{index}")


def admit(scribe: Scribe, run_id: RunId, token: int, call_id: CallId, orders: Iterable[tuple[ChildOrder, Body]]) -> list[Admitted]:
    """Take in what an open call of a running run starts, all or none; what it started before is answered as recorded."""
    runs.enter(scribe, run_id, token)
    parent, call = runs.load(scribe.tx, run_id), calls.load_call(scribe.tx, call_id)
    if call.run_id != run_id or call.outcome is not None or call.abandoned:
        raise NotRunning(parent, token=token)
    known = {run.input_id: run for run in of_call(scribe.tx, call_id)}
    return [_admit(scribe, parent, call_id, known, order, body) for order, body in orders]


def _admit(scribe: Scribe, parent: Run, call_id: CallId, known: dict[InputId, Run], order: ChildOrder, body: Body) -> Admitted:
    input_id = message_id(call_id, order.index)
    child = known.get(input_id)
    if child is not None:
        if not child.damaged and _content(child.input) != _content(body.value):
            raise InputConflict(child.chat_id, input_id, stored=child.input_digest, offered=body.digest)
        return Admitted(child, repeat=True)
    chat_id = ChatId(order.chat_id) if order.chat_id else parent.chat_id
    mode = codec.body(parent.mode)
    return Admitted(
        runs.create(scribe, chat_id=chat_id, input_id=input_id, body=body, title=parent.title, mode=mode, run_id=None, parent=call_id),
        repeat=False,
    )


def _content(message: dict[str, object]) -> bytes:
    return codec.encode({key: value for key, value in message.items() if key != JOB_ID})


def of_call(tx: Reader, call_id: CallId) -> list[Run]:
    """What a call started, in the order of its places."""
    found = [runs.from_row_any(row) for row in tx.all("children_of_call", call_id=call_id)]
    return sorted(found, key=lambda run: place_of(run))


def place_of(run: Run) -> int:
    """A child's place in its parent call."""
    number = run.input_id.rpartition("/")[2]
    return int(number) if number.isdecimal() else 0


def by_job(tx: Reader, chat_id: ChatId, job_id: str) -> Run | None:
    """The newest child that some run of this chat knows by this name."""
    found = [runs.from_row_any(row) for row in tx.all("children_of_chat", chat_id=chat_id)]
    return next((run for run in found if run.input.get(JOB_ID) == job_id), None)


def parent_of(tx: Reader, child: Run) -> tuple[Run, Call] | None:
    """The run and the call that started a child; None for a root run."""
    if child.parent_call_id is None:
        return None
    call = calls.load_call(tx, child.parent_call_id)
    return runs.load_any(tx, call.run_id), call


# -- stopping -----------------------------------------------------------------------------------


def stop(scribe: Scribe, run_id: RunId, origin: str, note: str) -> Run:
    """Stop a run and everything below it that has not ended, in this one transaction: no intent after it, from none of them."""
    for row in scribe.tx.all("unfinished_below", run_id=run_id):
        runs.stop(scribe, row["run_id"], OF_PARENT, "")
    return runs.stop(scribe, run_id, origin, note)


def stop_abandoned(scribe: Scribe, run_id: RunId) -> None:
    """What calls that are no part of the run any more had started does not go on either."""
    for row in scribe.tx.all("unfinished_of_abandoned", run_id=run_id):
        stop(scribe, row["run_id"], OF_PARENT, "")
