"""What a collection leaves alone although no record leads to it yet.

Nodes that a chat's next resume point counts on without handing them in again, and whatever was named since the
collection began. In memory only: a process that ends takes its claims with it.
"""

from __future__ import annotations

import threading

from .ids import Digest


class Pins:
    """The claims of one process on one journal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, set[Digest]] = {}
        self._since: set[str] | None = None

    def known(self, chat_id: str) -> set[Digest]:
        """The nodes that the journal has of this chat. Its owner adds to it what was stored, and takes nothing out."""
        with self._lock:
            return self._known.setdefault(chat_id, set())

    def forget(self, chat_id: str) -> None:
        """The next resume point of this chat is handed in whole. Only while none is being made or is under way."""
        with self._lock:
            if chat_id in self._known:
                self._known[chat_id].clear()

    def begin(self) -> None:
        """From now on everything that is named is noted. Called by the writer: what it wrote before can be read."""
        self._since = set()

    def end(self) -> None:
        self._since = None

    def note(self, digest: str) -> None:
        """An operation names this body or node. Called by the writer."""
        if self._since is not None:
            self._since.add(digest)

    def is_named(self, digest: str) -> bool:
        """Whether it was named since the collection began, or when nobody knows."""
        return self._since is None or digest in self._since

    def is_pinned(self, digest: Digest) -> bool:
        with self._lock:
            return self.is_named(digest) or any(digest in known for known in self._known.values())
