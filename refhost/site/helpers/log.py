"""What the page shows of a chat: items that change, a list of changes, one line of progress. Secrets are masked here."""

from __future__ import annotations

import copy
import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helpers.secrets import get_secrets_manager

if TYPE_CHECKING:
    from agent import AgentContext

Type = str
ProgressUpdate = str  # "persistent", "temporary", "none"

HEADING_MAX_LEN = 120
CONTENT_MAX_LEN = 15_000
RESPONSE_CONTENT_MAX_LEN = 250_000


@dataclass
class LogItem:
    log: Log
    no: int
    type: Type
    heading: str = ""
    content: str = ""
    update_progress: ProgressUpdate | None = "persistent"
    kvps: OrderedDict[str, Any] | None = None
    id: str | None = None
    guid: str = ""
    timestamp: float = 0.0
    agentno: int = 0

    def __post_init__(self) -> None:
        self.guid = self.log.guid
        self.timestamp = self.timestamp or time.time()

    def update(self, **changes: Any) -> None:
        """Does nothing once the log was reset: the item is no longer part of it."""
        if self.guid == self.log.guid:
            self.log._update_item(self.no, **changes)

    def stream(self, heading: str | None = None, content: str | None = None, **kwargs: Any) -> None:
        added = {key: f"{(self.kvps or {}).get(key, '')}{value}" for key, value in kwargs.items()}
        if heading is not None:
            added["heading"] = self.heading + heading
        if content is not None:
            added["content"] = self.content + content
        self.update(**added)

    def output(self) -> dict[str, Any]:
        names = ("no", "id", "type", "heading", "content", "kvps", "timestamp", "agentno")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class LogOutput:
    items: list[dict[str, Any]]
    start: int
    end: int


class Log:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.context: AgentContext | None = None
        self.guid = str(uuid.uuid4())
        self.updates: list[int] = []
        self.logs: list[LogItem] = []
        self.progress = ""
        self.progress_no = 0
        self.progress_active = False
        self.set_initial_progress()

    def log(
        self,
        type: Type,
        heading: str | None = None,
        content: str | None = None,
        kvps: dict[str, Any] | None = None,
        update_progress: ProgressUpdate | None = None,
        id: str | None = None,
        **kwargs: Any,
    ) -> LogItem:
        with self._lock:
            streaming = self.context.streaming_agent if self.context else None
            item = LogItem(log=self, no=len(self.logs), type=type, agentno=streaming.number if streaming else 0)
            self.logs.append(item)
        self._update_item(item.no, heading=heading, content=content, kvps=kvps, update_progress=update_progress, id=id, **kwargs)
        return item

    def _update_item(
        self,
        no: int,
        type: Type | None = None,
        heading: str | None = None,
        content: str | None = None,
        kvps: dict[str, Any] | None = None,
        update_progress: ProgressUpdate | None = None,
        id: str | None = None,
        **kwargs: Any,
    ) -> None:
        item = self.logs[no]
        limit = RESPONSE_CONTENT_MAX_LEN if (type or item.type) == "response" else CONTENT_MAX_LEN
        changes: dict[str, Any] = {
            "type": type,
            "heading": None if heading is None else self._mask_recursive(heading)[:HEADING_MAX_LEN],
            "content": None if content is None else _shorten(self._mask_recursive(str(content)), limit),
            "kvps": None if kvps is None else OrderedDict(self._mask_recursive(copy.deepcopy(dict(kvps)))),
            "update_progress": update_progress,
            "id": id,
        }
        more = self._mask_recursive(copy.deepcopy(kwargs))
        with self._lock:
            for name, value in changes.items():
                if value is not None:
                    setattr(item, name, value)
            item.kvps = OrderedDict() if item.kvps is None else item.kvps
            item.kvps.update(more)
            self.updates.append(no)
            if item.heading and item.update_progress != "none" and no >= self.progress_no:
                self.progress, self.progress_active = item.heading, True
                self.progress_no = no if item.update_progress == "persistent" else -1
        self._notify()

    def set_progress(self, progress: str, no: int = 0, active: bool = True) -> None:
        with self._lock:
            self.progress = self._mask_recursive(progress)
            self.progress_no = no or len(self.logs)
            self.progress_active = active
        self._notify()

    def set_initial_progress(self) -> None:
        self.set_progress("Waiting for input", 0, False)

    def output(self, start: int | None = None, end: int | None = None) -> LogOutput:
        with self._lock:
            start, end = start or 0, len(self.updates) if end is None else end
            changed = dict.fromkeys(self.updates[start:end])
            items = [self.logs[no].output() for no in changed if no < len(self.logs)]
        return LogOutput(items=items, start=start, end=end)

    def reset(self) -> None:
        with self._lock:
            self.guid = str(uuid.uuid4())
            self.updates = []
            self.logs = []
        self.set_initial_progress()

    def _notify(self) -> None:
        from helpers.state_monitor_integration import mark_dirty_for_context

        if self.context:
            mark_dirty_for_context(self.context.id, reason="log")

    def _mask_recursive(self, value: Any) -> Any:
        if isinstance(value, str):
            return get_secrets_manager(self.context).mask_values(value)
        if isinstance(value, dict):
            return {key: self._mask_recursive(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._mask_recursive(inner) for inner in value]
        return value


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 3 // 10
    return f"{text[:head]}\n\n[{len(text) - limit} characters left out]\n\n{text[head - limit :]}"
