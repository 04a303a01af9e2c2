"""Toasts that the server sends to the page. Title, message and detail are shown as HTML: whoever sends must escape."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from helpers.localization import Localization
from helpers.state_monitor_integration import mark_dirty_all


class NotificationType(Enum):
    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"
    PROGRESS = "progress"


class NotificationPriority(Enum):
    NORMAL = 10
    HIGH = 20


@dataclass
class NotificationItem:
    manager: NotificationManager
    no: int
    type: NotificationType
    priority: NotificationPriority
    title: str
    message: str
    detail: str
    timestamp: datetime
    display_time: int = 3
    read: bool = False
    id: str = ""
    group: str = ""

    def output(self) -> dict[str, Any]:
        names = ("no", "id", "title", "message", "detail", "display_time", "read", "group")
        return {
            **{name: getattr(self, name) for name in names},
            "type": NotificationType(self.type).value,
            "priority": NotificationPriority(self.priority).value,
            "timestamp": self.timestamp.isoformat(),
        }


class NotificationManager:
    def __init__(self, max_notifications: int = 100) -> None:
        self._lock = threading.RLock()
        self.guid = str(uuid.uuid4())
        self.updates: list[int] = []
        self.notifications: list[NotificationItem] = []

    @staticmethod
    def send_notification(
        type: NotificationType,
        priority: NotificationPriority,
        message: str,
        title: str = "",
        detail: str = "",
        display_time: int = 3,
        group: str = "",
        id: str = "",
    ) -> NotificationItem:
        from agent import AgentContext

        manager = AgentContext.get_notification_manager()
        return manager.add_notification(type, priority, message, title, detail, display_time, group, id)

    def add_notification(
        self,
        type: NotificationType,
        priority: NotificationPriority,
        message: str,
        title: str = "",
        detail: str = "",
        display_time: int = 3,
        group: str = "",
        id: str = "",
    ) -> NotificationItem:
        """The same id replaces what is shown."""
        with self._lock:
            known = next((item for item in self.notifications if id and item.id == id), None)
            item = NotificationItem(
                manager=self,
                no=known.no if known else len(self.notifications),
                type=NotificationType(type),
                priority=NotificationPriority(priority),
                title=title,
                message=message,
                detail=detail,
                timestamp=Localization.get().now(),
                display_time=display_time,
                id=id or str(uuid.uuid4()),
                group=group,
            )
            self.notifications[item.no : item.no + 1] = [item]
            self.updates.append(item.no)
        mark_dirty_all(reason="notification")
        return item

    def output_with_state(self, start: int | None = None) -> tuple[list[dict[str, Any]], str, int]:
        with self._lock:
            changed = dict.fromkeys(self.updates[start or 0 :])
            return [self.notifications[no].output() for no in changed], self.guid, len(self.updates)

    def output_all(self) -> list[dict[str, Any]]:
        with self._lock:
            return [item.output() for item in self.notifications]
