"""How a chat stands against its run's resume point: same, behind, moved on, or gone (I6)."""

from __future__ import annotations

from typing import Any

from ..journal.masking import Masker
from ..journal.records import Call, CallKind, HoldReason, Run
from . import agents
from .messages import Message
from .projection import MARK, Point

MOVED_ON = "This chat was used while its run was not recorded. Nothing was overwritten."
_QUEUE_PARTS = ("data", "output_data")  # what counts, and what the page is shown of it
GONE = "The stored chat of this run is gone. Nothing was brought back."


def problem(ctx: Any, point: Point, run: Run, known: list[Message], calls: list[Call]) -> tuple[HoldReason, str] | None:
    """Why the chat must not be rebuilt, or None."""
    if ctx is None:
        return (HoldReason.CHAT_GONE, GONE) if point.saved else None
    if _moved_on(ctx, point, run, known, calls):
        return HoldReason.CHAT_MOVED_ON, MOVED_ON
    return None


def _moved_on(ctx: Any, point: Point, run: Run, known: list[Message], calls: list[Call]) -> bool:
    if not _same_log(ctx, point):
        return True  # a reset gives a chat a new log
    in_point = point.message_ids()
    extra, *below = [[m for m in agent.history.all_messages() if m.id not in in_point] for agent in agents.of_chat(ctx)]
    ours = {run.input_id, *(message.id for message in known)}
    if any(_is_from_person(m) and m.id not in ours for m in extra):
        return True
    # what a subordinate heard and said belongs to the call that started it, unless a person wrote to it
    shown = {item.id for item in ctx.log.logs if item.type == "user" and item.id}
    if any(m.id in shown and m.id not in ours for messages in below for m in messages):
        return True
    # answers that no record explains: the turn went on without us
    recorded = [c for c in calls if c.key.kind is CallKind.MODEL and c.outcome and agents.is_beyond(c.key, point.position)]
    mine = [sum(1 for c in recorded if agents.number_of(c.key.path) == number) for number in range(1 + len(below))]
    said = [sum(1 for m in messages if m.ai) for messages in (extra, *below)]
    return any(said[number] > mine[number] for number in point.paths if number < len(said))


def is_of(ctx: Any, point: Point) -> bool:
    """Whether the chat's log is the point's, or was made from it."""
    return _same_log(ctx, point)


def is_behind(ctx: Any, point: Point) -> bool:
    """The chat lacks messages of the point and has none of its own: its file was not written in time."""
    have = {m.id for agent in agents.of_chat(ctx) for m in agent.history.all_messages()}
    should = point.message_ids()
    return _same_log(ctx, point) and have < should


def queue_of(ctx: Any) -> dict[str, dict[str, Any]] | None:
    """The host's queue of messages. The chat knows it better than any point: its file is written with each change."""
    if ctx is None:
        return None
    return {part: {key: getattr(ctx, part)[key] for key in _queue_keys() if key in getattr(ctx, part)} for part in _QUEUE_PARTS}


def put_queue(ctx: Any, queued: dict[str, dict[str, Any]] | None) -> None:
    for part, values in (queued or {}).items():
        getattr(ctx, part).update(values)


def take_queue(stored: dict[str, Any]) -> None:
    """Leave the queue out of a chat that is about to be stored: it goes on elsewhere."""
    for part in _QUEUE_PARTS:
        for key in _queue_keys():
            stored[part].pop(key, None)


def _queue_keys() -> tuple[str, str]:
    from helpers import message_queue

    return message_queue.QUEUE_KEY, message_queue.QUEUE_SEQ_KEY


def _same_log(ctx: Any, point: Point) -> bool:
    mark = ctx.data.get(MARK) or {}
    return bool(ctx.log.guid == point.guid or (mark.get("from") == point.guid and mark.get("as") == ctx.log.guid))


def _is_from_person(message: Any) -> bool:
    content = message.content
    return not message.ai and isinstance(content, dict) and bool({"user_message", "user_intervention"} & set(content))


def said(value: Any) -> str:
    """The words of a saved result: an answer, the progress of an interrupted step, an error's text."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("message", "progress", "text") if value.get(key)), "")
    return value if isinstance(value, str) else ""


def named(masker: Masker, call: Call) -> str:
    """A call for a reader: its name and what it was asked."""
    masked = masker.mask(call.arguments).value  # again: before it is cut, with what is known by now
    arguments = masked if isinstance(masked, dict) else {}
    shown = ", ".join(f"{key}={str(value)[:200]}" for key, value in arguments.items())
    return f"{call.name}({shown})"
