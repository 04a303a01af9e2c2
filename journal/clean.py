"""Texts in which no secret was found, so that the same text is not searched again: as a result, then in the history.

Belongs to one list of secrets and goes with it: what is clean by one list may hold a secret of the next. It holds no
text in which anything was found, and no more than its bounds.
"""

from __future__ import annotations

from threading import Lock

MOST_TEXTS = 4096
MOST_CHARACTERS = 8 * 1024 * 1024


class Clean:
    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._size = 0
        self._lock = Lock()

    def __contains__(self, text: str) -> bool:
        return type(text) is str and text in self._texts

    def add(self, text: str) -> None:
        """Remember a text; what was remembered so far is forgotten when it does not fit."""
        if type(text) is not str or len(text) > MOST_CHARACTERS:
            return
        with self._lock:
            if len(self._texts) == MOST_TEXTS or self._size + len(text) > MOST_CHARACTERS:
                self._texts, self._size = set(), 0
            self._texts.add(text)
            self._size += len(text)
