"""A chat as a resume point, and a resume point as a chat again.

A projection costs what changed: messages, log items and data values are content
addressed pieces, remembered by object, so that neither bytes nor encoding grow with
the history (I13). What the host rebuilds by itself (the context window) is left out.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..journal.ids import Digest
from ..journal.masking import Masker
from ..journal.records import ResumePoint
from ..journal.trees import Growing, Grown, Pack, Tree
from ..journal.values import Opaque
from . import agents, limits

LOG_ITEMS = 1000  # the host keeps as many of a stored chat
MARK = "durable_execution"  # our key in a chat's data
VOLATILE = "_durable_volatile"  # what tools left open in memory; the underscore keeps it out of chat.json
RECORDED_JOBS = "_durable_jobs"  # names of jobs that are runs of their own, and so not lost with the process
REBUILT_BY_HOST = {"ctx_window"}
_PROVIDER_STATE = ("response_id", "previous_response_id")
_RETRIES = 3


class _Piece(NamedTuple):
    """A part of a history as it was when it was packed. It keeps what it was made of, so that no other object can pass for it."""

    record: Any
    summary: str
    held: Any  # the content of a message, else the digests of what it holds
    metadata: Any
    tokens: int
    digest: Digest


_NONE = _Piece(None, "", None, None, 0, Digest(""))


class Projector:
    """Projects one chat again and again; remembers the pieces that were stored."""

    def __init__(self, masker: Masker, known: set[Digest]) -> None:
        """`known` is the journal's own account of what it has of this chat: it may be emptied between two turns."""
        self._masker = masker
        self._known = known
        self._lists: dict[int, Growing] = {}
        self._log_items = Growing()
        self._pieces: dict[int, _Piece] = {}
        self._log: tuple[str, int, list[Digest]] = ("", 0, [])

    def project(self, ctx: Any, position: dict[str, int], *, paths: Mapping[int, str] | None = None, answered: bool = False) -> ResumePoint:
        """Take the chat's state as it is now. Background work may change a history meanwhile: try again.

        `paths`: where the agents work that are part of the run, by number.
        `answered`: the host's loop compares its next answer with the last one, to notice a model that repeats itself.
        """
        for attempt in range(_RETRIES):
            pack = Pack(self._masker, self._known)
            try:
                root = pack.root({**self._root(pack, ctx, paths or {}), "answered": answered})
            except (RuntimeError, IndexError):
                if attempt == _RETRIES - 1:
                    raise
                continue
            return ResumePoint(root=root, nodes=pack.nodes, position=dict(position))
        raise AssertionError("unreachable")

    def stored(self, point: ResumePoint) -> None:
        """Remember that the journal has these nodes: they are not sent again."""
        self._known.update(point.nodes)

    def _root(self, pack: Pack, ctx: Any, paths: Mapping[int, str]) -> dict[str, Any]:
        used: dict[int, _Piece] = {}
        members = []
        for agent in agents.of_chat(ctx):
            path = paths.get(agent.number, "")
            used_up = limits.used_up(agent, at_work=agent is ctx.streaming_agent) if path else {}
            members.append({**self._agent(pack, agent, used), "path": path, "limits": used_up})
        self._pieces = used
        return {
            "shape": 1,
            "id": ctx.id,
            "name": ctx.name,
            "type": ctx.type.value,
            "created_at": _time(ctx.created_at),
            "last_message": _time(ctx.last_message),
            "agent_profile": _profile(ctx.agent0),
            "streaming_agent": ctx.streaming_agent.number if ctx.streaming_agent else 0,
            "agents": members,
            "log": self._project_log(pack, ctx.log),
            "data": _values(pack, ctx.data),
            "output_data": _values(pack, ctx.output_data),
            "saved": bool(ctx.data.get("_persist_chat_saved")),
            "volatile": volatile_state(ctx),
        }

    def _agent(self, pack: Pack, agent: Any, used: dict[int, _Piece]) -> dict[str, Any]:
        history = agent.history
        last = agent.last_user_message
        bulks, topics = _settled(history)
        return {
            "number": agent.number,
            "agent_profile": _profile(agent),
            "data": _values(pack, agent.data),
            "counter": history.counter,
            "bulks": pack.list([self._record(pack, bulk, used) for bulk in bulks]),
            "topics": pack.list([self._record(pack, topic, used) for topic in topics]),
            "current": self._current(pack, agent.number, history.current, used),
            "last_user_message": last.id if last else "",
        }

    def _current(self, pack: Pack, number: int, topic: Any, used: dict[int, _Piece]) -> dict[str, Any]:
        """The topic that grows, inside the root: a step adds its messages and nothing else."""
        children = self._messages(pack, topic.messages, used)
        growing = self._lists.setdefault(number, Growing())
        return {"kind": "Topic", "summary": topic.summary, "children": growing.update(pack, children)}

    def _record(self, pack: Pack, record: Any, used: dict[int, _Piece]) -> Digest:
        """A topic or bulk as one node; children before parents."""
        if hasattr(record, "messages"):
            kind, children = "Topic", self._messages(pack, record.messages, used)
        elif hasattr(record, "records"):
            kind, children = "Bulk", [self._record(pack, child, used) for child in list(record.records)]
        else:
            return self._messages(pack, [record], used)[0]
        piece = self._pieces.get(id(record))
        is_same = piece and piece.record is record and piece.summary == record.summary and piece.held == children
        if piece is None or not is_same or piece.digest not in self._known:
            digest = pack.put({"kind": kind, "summary": record.summary, "children": pack.list(children)})
            piece = _Piece(record, record.summary, children, None, 0, digest)
        used[id(record)] = piece
        return piece.digest

    def _messages(self, pack: Pack, messages: list[Any], used: dict[int, _Piece]) -> list[Digest]:
        """Messages as one node each. All of a history come by at each step: what did not change is looked at, and nothing else."""
        pieces, known, digests = self._pieces, self._known, []
        for message in list(messages):
            piece = pieces.get(id(message), _NONE)
            record, summary, content, metadata, tokens, digest = piece
            if not (
                record is message
                and content is message.content
                and metadata is message.metadata
                and summary == message.summary
                and tokens == message.tokens
                and digest in known
            ):
                digest = pack.put({"kind": "Message", "value": message.to_dict()})
                piece = _Piece(message, message.summary, message.content, message.metadata, message.tokens, digest)
            used[id(message)] = piece
            digests.append(digest)
        return digests

    def _project_log(self, pack: Pack, log: Any) -> dict[str, Any]:
        with log._lock:
            guid, updates = log.guid, log.updates
            known_guid, seen, digests = self._log
            if guid != known_guid or len(log.logs) < len(digests) or seen > len(updates):
                seen, digests = 0, []
            changed = set(updates[seen:]) | set(range(len(digests), len(log.logs)))
            # what was remembered when it was projected may never have been stored
            changed |= {no for no, digest in enumerate(digests) if digest not in self._known}
            items = {no: log.logs[no].output() for no in sorted(changed) if no < len(log.logs)}
            count, progress, active = len(log.logs), log.progress, log.progress_no
            end = len(updates)
        digests = [*digests, *[Digest("")] * (count - len(digests))]
        for no, item in items.items():
            digests[no] = pack.put(item)
        self._log = (guid, end, digests)
        return {"guid": guid, "items": self._log_items.update(pack, digests), "progress": progress, "progress_no": active}


def _settled(history: Any) -> tuple[list[Any], list[Any]]:
    """The bulks and topics of a history that may be compressed on another thread just now.

    A compression first adds the bulk and then takes its topics out. Topics are read first: none can be missed, and one
    that the newest bulk holds already is left to it.
    """
    topics = list(history.topics)
    bulks = list(history.bulks)
    moved = {id(record) for bulk in bulks[-1:] for record in list(bulk.records)}
    return bulks, [topic for topic in topics if id(topic) not in moved]


def volatile_state(ctx: Any) -> list[str]:
    """What of this chat lives in memory only and is gone with the process, in words."""
    lost = []
    for agent in agents.of_chat(ctx):
        shells = getattr(agent.data.get("_cet_state"), "shells", None)
        if shells:
            lost.append("shell sessions with their working directory and environment")
    if set(ctx.data.get("_parallel_jobs") or ()) - ctx.data.get(RECORDED_JOBS, set()):
        lost.append("parallel jobs that were still running")
    lost.extend(ctx.data.get(VOLATILE, ()))
    return sorted(set(lost))


class Point:
    """A loaded resume point, readable without rebuilding the chat."""

    def __init__(self, root: Digest, position: dict[str, int], tree: Tree) -> None:
        self.position = position
        self._tree = tree
        self._root: dict[str, Any] = tree.value(root)
        self.guid: str = self._root["log"]["guid"]
        self.saved: bool = self._root["saved"]
        self.is_background: bool = self._root["type"] == "background"
        self.volatile: list[str] = self._root["volatile"]
        self.answered: bool = self._root.get("answered", False)
        found = {agent["number"]: agent["path"] for agent in self._root["agents"] if agent.get("path")}
        self.paths: dict[int, str] = found or agents.entered_at(0)
        self._messages: list[list[dict[str, Any]]] = []
        self._histories = [self._history(agent) for agent in self._root["agents"]]

    def message_ids(self) -> set[str]:
        """Ids of all messages of all agents in this point."""
        return {message["id"] for messages in self._messages for message in messages}

    def chat(self, guid: str) -> dict[str, Any]:
        """The chat in the shape that the host's own loader takes, under a new log guid.

        A tab that is open asks the log from the number it has seen: only another guid
        makes it draw the chat anew.
        """
        root = self._root
        log = root["log"]
        items = self._tree.values(self._tree.list(log["items"])[-LOG_ITEMS:])
        return {
            **{key: root[key] for key in ("id", "name", "created_at", "last_message", "type", "agent_profile")},
            "streaming_agent": root["streaming_agent"],
            "agents": [
                {
                    "number": agent["number"],
                    "agent_profile": agent["agent_profile"],
                    "data": _without_provider_state(_loaded_values(self._tree, agent["data"])),
                    "history": json.dumps(history, ensure_ascii=False),
                }
                for agent, history in zip(root["agents"], self._histories, strict=True)
            ],
            "log": {"guid": guid, "logs": items, "progress": log["progress"], "progress_no": log["progress_no"]},
            "data": {**_loaded_values(self._tree, root["data"]), MARK: {"from": self.guid, "as": guid}},
            "output_data": _loaded_values(self._tree, root["output_data"]),
        }

    def limits(self) -> dict[int, dict[str, int]]:
        """What each agent had used of the host's limits, by its number."""
        return {agent["number"]: agent["limits"] for agent in self._root["agents"] if agent.get("limits")}

    def last_user_messages(self) -> list[str]:
        return [agent["last_user_message"] for agent in self._root["agents"]]

    def _history(self, agent: dict[str, Any]) -> dict[str, Any]:
        self._messages.append([])
        current = agent["current"]
        return {
            "_cls": "History",
            "counter": agent["counter"],
            "bulks": self._records(agent["bulks"]),
            "topics": self._records(agent["topics"]),
            "current": self._record(self._tree.value(Digest(current)) if isinstance(current, str) else current),
        }

    def _records(self, stored: Digest | Grown) -> list[dict[str, Any]]:
        return [self._record(node) for node in self._tree.values(self._tree.list(stored))]

    def _record(self, node: dict[str, Any]) -> dict[str, Any]:
        if node["kind"] == "Message":
            value: dict[str, Any] = node["value"]
            self._messages[-1].append(value)
            return value
        children = self._records(node["children"])
        field = "messages" if node["kind"] == "Topic" else "records"
        return {"_cls": node["kind"], "summary": node["summary"], field: children}


def rebuild(point: Point) -> Any:
    """Make the chat anew from its resume point (I6) and return it.

    The host's loader replaces a chat of the same id and ends its task.
    """
    from helpers import history, persist_chat

    ctx = persist_chat._deserialize_context(point.chat(str(uuid.uuid4())))
    for agent, message_id in zip(agents.of_chat(ctx), point.last_user_messages(), strict=False):
        found = [m for m in agent.history.all_messages() if m.id == message_id] if message_id else []
        agent.last_user_message = found[-1] if found else None
        history.clear_responses_provider_state(agent)
    return ctx


def lasting(data: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a checkpoint keeps of the data of a chat or an agent: not what the host calls its own, or makes anew."""
    return [(key, value) for key, value in list(data.items()) if not key.startswith("_") and key not in REBUILT_BY_HOST]


def _values(pack: Pack, data: dict[str, Any]) -> dict[str, Digest]:
    return {key: pack.put(value) for key, value in lasting(data)}


def _loaded_values(tree: Tree, digests: dict[str, Digest]) -> dict[str, Any]:
    values = zip(digests, tree.values(list(digests.values())), strict=True)
    return {key: value for key, value in values if not isinstance(value, Opaque)}


def _without_provider_state(data: dict[str, Any]) -> dict[str, Any]:
    """Provider state is dropped on a resume (I14): the provider gets the whole prompt again."""
    state = data.get("responses_state")
    if isinstance(state, dict):
        data = {**data, "responses_state": {k: v for k, v in state.items() if k not in _PROVIDER_STATE}}
    return data


def _profile(agent: Any) -> str:
    return str(getattr(agent.config, "profile", "") or "")


def _time(moment: Any) -> str | None:
    from helpers.localization import Localization

    return Localization.get().serialize_datetime(moment) if moment else None
