"""User messages on their way into a chat: their bubble in the log, and those that wait for the running turn."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers import guids
from helpers.print_style import PrintStyle

if TYPE_CHECKING:
    from agent import AgentContext

QUEUE_KEY = "message_queue"
QUEUE_SEQ_KEY = "message_queue_seq"


def get_queue(context: AgentContext) -> list[dict[str, Any]]:
    return context.get_data(QUEUE_KEY) or []


def has_queue(context: AgentContext) -> bool:
    return bool(get_queue(context))


def add(context: AgentContext, text: str, attachments: list[str] | None = None, item_id: str | None = None) -> dict[str, Any]:
    seq = (context.get_data(QUEUE_SEQ_KEY) or 0) + 1
    item = {"id": item_id or guids.generate_id(), "seq": seq, "text": text, "attachments": attachments or []}
    context.set_data(QUEUE_SEQ_KEY, seq)
    _set_queue(context, [*get_queue(context), item])
    return item


def remove(context: AgentContext, item_id: str | None = None) -> int:
    _set_queue(context, [item for item in get_queue(context) if item_id and item["id"] != item_id])
    return len(get_queue(context))


def pop_first(context: AgentContext) -> dict[str, Any] | None:
    queue = get_queue(context)
    _set_queue(context, queue[1:])
    return queue[0] if queue else None


def log_user_message(
    context: AgentContext,
    message: str,
    attachment_paths: list[str],
    message_id: str | None = None,
    source: str = "",
) -> None:
    PrintStyle.standard(f"User message{source}:\n> {message}")
    context.log.log(
        type="user",
        heading="",
        content=message,
        kvps={"attachments": [Path(path).name for path in attachment_paths or []]},
        id=message_id,
    )


def send_message(context: AgentContext, item: dict[str, Any], source: str = " (from queue)") -> None:
    """The queue's own id is dropped: the message gets a new one now."""
    from agent import UserMessage

    text, attachments, message_id = item.get("text", ""), item.get("attachments", []), str(uuid.uuid4())
    log_user_message(context, text, attachments, message_id=message_id, source=source)
    context.communicate(UserMessage(text, attachments, id=message_id))


def send_next(context: AgentContext) -> bool:
    item = pop_first(context)
    if item:
        send_message(context, item)
    return bool(item)


def send_all_aggregated(context: AgentContext) -> int:
    items = get_queue(context)
    _set_queue(context, [])
    if items:
        joined = {
            "text": "\n\n---\n\n".join(item["text"] for item in items),
            "attachments": [path for item in items for path in item["attachments"]],
        }
        send_message(context, joined, source=" (queued batch)")
    return len(items)


def _set_queue(context: AgentContext, queue: list[dict[str, Any]]) -> None:
    context.set_data(QUEUE_KEY, queue)
    context.set_output_data(QUEUE_KEY, [{**item, "text": item["text"][:100]} for item in queue])
