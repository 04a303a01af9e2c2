"""The host's queue of messages: each keeps its id on its way into a turn, so that it is sent once, not twice and not never.

The queue stands in the chat's own file, which is written before an item is acknowledged. What was taken in since the
file was written is known by its id.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..journal.errors import Corrupt
from ..journal.records import RunState
from . import notify

if TYPE_CHECKING:
    from .activation import Activation

_DURING = "durable_during"  # our key in an item: the run in whose turn it was put there
_SEVERAL = "queue "
_TRIES, _AGAIN_S = 3, 1.0
NOT_SAVED = "The queued message is kept in memory only: its chat could not be saved. It is lost if Agent Zero ends now."


@dataclass(slots=True)
class Sending:
    """Items on their way into a turn, as one message. `refused`: they were not taken in."""

    items: list[dict[str, Any]]
    refused: bool = False

    @property
    def input_id(self) -> str:
        """The item's own id; of several sent as one, an id that says which."""
        ids = [str(item["id"]) for item in self.items]
        return ids[0] if len(ids) == 1 else _SEVERAL + json.dumps(ids)


sending: ContextVar[Sending | None] = ContextVar("durable_execution_sending", default=None)


def added(active: Activation, ctx: Any, item: dict[str, Any]) -> None:
    """Before the item is acknowledged: which turn it is to follow, and the chat's file."""
    session = active.sessions.get(ctx.id)
    if session is not None:
        item[_DURING] = session.run.run_id
    save(ctx)


def all_of(ctx: Any) -> list[dict[str, Any]]:
    from helpers import message_queue

    return list(message_queue.get_queue(ctx))


def save(ctx: Any) -> None:
    from helpers import persist_chat

    for attempt in range(_TRIES):
        try:
            persist_chat.save_tmp_chat(ctx)
            return
        except RuntimeError:  # the turn added to what is being written
            if attempt == _TRIES - 1:
                notify.warn(ctx, "Not saved", NOT_SAVED, "durable-queue")
        except OSError:
            notify.warn(ctx, "Not saved", NOT_SAVED, "durable-queue")
            return


def known(active: Activation, ctx: Any, ident: str | None, text: str) -> dict[str, Any] | None:
    """An item that was queued before under this id, also if it was sent meanwhile: the same one is not queued twice."""
    if not ident:
        return None
    waiting_item = next((item for item in all_of(ctx) if item["id"] == ident), None)
    if waiting_item is None and (ident in _joined(active, ctx.id) or active.journal.find_input(ctx.id, ident, {}) is not None):
        return {"id": ident, "text": text, "attachments": []}
    return waiting_item


@contextlib.contextmanager
def on_their_way(active: Activation, ctx: Any, items: list[dict[str, Any]]) -> Iterator[None]:
    """Around the host's own sending: the message is given the items' id, and what is refused stands in the queue again."""
    if sending.get() is not None or not items or not all("id" in item for item in items):
        yield
        return
    sent = Sending(items)
    token = sending.set(sent)
    try:
        yield
    finally:
        sending.reset(token)
        if sent.refused:
            _put_back(ctx, items)
            threading.Thread(target=_send_again, args=(active, ctx), name="durable-queue", daemon=True).start()
        save(ctx)


def _send_again(active: Activation, ctx: Any) -> None:
    """The journal did not take it in, and nobody waits for the answer: try again until it does."""
    from helpers import message_queue

    time.sleep(_AGAIN_S)
    if not active.closed and not ctx.is_running():
        message_queue.send_next(ctx)


def is_drawn(ctx: Any) -> bool:
    """Whether the bubble of what is being sent stands already, from a try before."""
    sent = sending.get()
    return sent is not None and any(item.id == sent.input_id for item in ctx.log.logs)


def _put_back(ctx: Any, items: list[dict[str, Any]]) -> None:
    from helpers import message_queue

    ctx.set_data(message_queue.QUEUE_KEY, [*items, *message_queue.get_queue(ctx)])
    message_queue.remove(ctx, "durable: none")  # draws the queue anew


# -- after a restart -------------------------------------------------------------------------


def drop_sent(active: Activation) -> None:
    """Items that were taken in after their chat's file was written."""
    from agent import AgentContext
    from helpers import message_queue

    for ctx in AgentContext.all():
        items = message_queue.get_queue(ctx)
        if not items:
            continue
        joined = _joined(active, ctx.id)
        for ident in [str(item["id"]) for item in items]:
            if ident in joined or active.journal.find_input(ctx.id, ident, {}) is not None:
                message_queue.remove(ctx, ident)


def _joined(active: Activation, chat_id: str) -> set[str]:
    """Items that were sent as one message in the newest turn."""
    newest = active.journal.runs_of(chat_id)[-1:]
    try:
        sent = [ident for run in newest for ident in (run.input_id, *(kept.input_id for kept in active.journal.inputs(run.run_id)))]
    except Corrupt:
        return set()
    return {item for ident in sent if ident.startswith(_SEVERAL) for item in json.loads(ident.removeprefix(_SEVERAL))}


def send_due(active: Activation) -> None:
    """The turn that these items followed has ended, and the process with it, before the host sent the first of them."""
    from agent import AgentContext
    from helpers import message_queue

    for run in active.journal.ended_in_last_boot():
        ctx = AgentContext.get(run.chat_id)
        if ctx is None or run.chat_id in active.sessions or ctx.is_running() or run.state is not RunState.COMPLETED:
            continue
        items = message_queue.get_queue(ctx)
        if items and items[0].get(_DURING) == run.run_id:
            message_queue.send_next(ctx)
