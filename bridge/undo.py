"""The undo log: what was replaced, in which order, and the exact way back (I12).

An entry is written before the attribute changes. Undo runs in reverse, may be
called twice, and never removes what another plugin put on top.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_ABSENT = object()


@dataclass(slots=True)
class Entry:
    """One replaced attribute: `owner.name` was `original` and became `replacement`."""

    owner: Any
    name: str
    original: Any
    replacement: Any
    label: str
    undone: bool = False


@dataclass(slots=True)
class UndoLog:
    """Replaces attributes and puts back the very objects that were there."""

    entries: list[Entry] = field(default_factory=list)

    def swap(self, owner: Any, name: str, replacement: Any, label: str) -> None:
        """Replace `owner.name`, which must exist in the owner's own `__dict__`.

        Read from `__dict__`, not with getattr: a static or class method answers
        getattr with another object than the one that must be put back.
        """
        original = vars(owner)[name]
        self.entries.append(Entry(owner, name, original, replacement, label))
        setattr(owner, name, replacement)

    def shadow(self, owner: Any, name: str, replacement: Any, label: str) -> None:
        """Stand before what the owner has from its class; undone, the owner has nothing of its own again."""
        if name in vars(owner):
            raise ValueError(f"{label} stands there already")
        self.entries.append(Entry(owner, name, _ABSENT, replacement, label))
        setattr(owner, name, replacement)

    def holds(self, owner: Any, name: str) -> bool:
        """Whether this attribute is replaced already, below what another plugin put on top."""
        return any(entry.owner is owner and entry.name == name for entry in self.entries)

    def undo(self) -> list[str]:
        """Put everything back, newest first; return the labels that could not be."""
        stuck = []
        for entry in reversed(self.entries):
            if entry.undone:
                continue
            if vars(entry.owner).get(entry.name, _ABSENT) is entry.replacement:
                _put_back(entry)
            entry.undone = vars(entry.owner).get(entry.name, _ABSENT) is entry.original
            if not entry.undone:
                stuck.append(entry.label)
        self.entries = [entry for entry in self.entries if not entry.undone]
        return stuck


def _put_back(entry: Entry) -> None:
    if entry.original is _ABSENT:
        delattr(entry.owner, entry.name)
    else:
        setattr(entry.owner, entry.name, entry.original)
