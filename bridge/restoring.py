"""A chat is brought to the state that a person chose: what it has of its own is kept as another chat first (I6).

Done again after a crash in the middle it does the same: the copy has one id for each choice.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from ..journal.codec import digest
from ..journal.errors import Corrupt
from ..journal.records import Call, CallKind, Outcome
from . import agents, notify, standing
from .projection import MARK, Point

if TYPE_CHECKING:
    from .activation import Activation
    from .session import Session

COPIED = "This chat was brought back to an earlier saved state. What it had beyond that is kept in the chat: {name}"
ENDED = "A person ended this turn and kept the chat as it is. Nothing more of the turn runs."
RESULTS = "These steps of it had ended, with these saved results:"
_ENOUGH = 8  # states of which the best few are shown
_MOST_RESULT, _MOST_RESULTS = 2_000, 20_000


def usable(active: Activation, run_id: str) -> set[int]:
    """The places of the saved states that can be read whole, each part verified."""
    found = set()
    for seq, loaded in active.journal.states(run_id).items():
        try:
            Point(loaded.root, loaded.position, loaded.tree).chat("")
        except (Corrupt, KeyError, TypeError, AttributeError):  # a part is missing, or not of the shape that we write
            continue
        found.add(seq)
        if len(found) == _ENOUGH:
            break
    return found


def keep_copy(session: Session, point: Point, selection: str) -> str:
    """Keep what the chat has beyond the point as a chat of its own, once for each choice; answers its name, or nothing."""
    from agent import AgentContext
    from helpers import persist_chat

    ctx = session.context()
    if ctx is None or not _has_more(ctx, point):
        return ""
    name = f"{ctx.name or session.run.title or 'Chat'} (before it was brought back)"
    copy_id = digest(selection.encode())[:8]
    if AgentContext.get(copy_id) is None:
        data = json.loads(persist_chat._safe_json_serialize(persist_chat._serialize_context(ctx)))  # nothing shared with the chat
        data |= {"id": copy_id, "name": name}
        data["log"]["guid"] = str(uuid.uuid4())
        data["data"].pop(MARK, None)
        standing.take_queue(data)
        persist_chat.save_tmp_chat(persist_chat._deserialize_context(data))
        notify.refresh()
    return name


def _has_more(ctx: Any, point: Point) -> bool:
    in_point = point.message_ids()
    said = any(m.id not in in_point for agent in agents.of_chat(ctx) for m in agent.history.all_messages())
    return said or (bool(ctx.log.logs) and not standing.is_of(ctx, point))


def results(active: Activation, calls: list[Call], ctx: Any) -> str:
    """What the chat does not have of the saved results, for the note that ends the run."""
    heard = "\n".join(str(m.content) for agent in agents.of_chat(ctx) for m in agent.history.all_messages())
    lines: list[str] = []
    masker = active.journal.masker
    for call in calls:
        text = standing.said(call.value) if call.key.kind is CallKind.TOOL and call.outcome not in (None, Outcome.UNKNOWN) else ""
        if text and text not in heard:
            lines.append(f"{standing.named(masker, call)}: {masker.text(text)[:_MOST_RESULT]}")
    return f" {RESULTS} {'; '.join(lines)[:_MOST_RESULTS]}." if lines else ""
