"""What stands beside an open journal and remembers how far it has come: its files' identity and its head files.

It notices at the opening that the journal was put back, and while it is open that somebody changes it under our hands.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..errors import StoreLost
from . import lineage
from .base import Reader, Restored
from .files import Files
from .heads import Head, Heads

PUT_BACK = "It was put back to another state while it was open. Restart, so that what is there is looked at anew."
_GONE = "The journal that was here before is gone. A new one began."


class Witness:
    """Of one opening. Used by the thread that writes, and while the store is opened and closed."""

    def __init__(self, files: Files, other_heads: Iterable[Path], opening: str) -> None:
        self.opening = opening
        self.restored: Restored | None = None
        self.notes = files.place.notes
        self._files = files
        self._heads = Heads([files.head, *other_heads])
        self._journal_id = opening

    @property
    def has_heads(self) -> bool:
        """A head file is in its place: should all be gone at a later opening, the journal was moved."""
        return self._heads.is_kept

    def judge(self, reader: Reader, *, made: bool) -> None:
        """Compare the journal with its head files. One that was made just now has nothing to lose."""
        heads = self._heads.found()
        self._journal_id = lineage.identity(reader).journal_id or self.opening
        if not made:
            self.restored = lineage.judge(reader, heads, all_missing=self._heads.all_missing())
        elif heads:
            self._heads.remove()  # they accuse the new journal of not being the old one
            self.notes = [*self.notes, _GONE]

    def check(self, *, whole: bool = True) -> None:
        """Raise StoreLost if the journal was removed, replaced or put back under our hands. Not `whole`: one head file of several."""
        self._files.check_same()
        if self._heads.is_overwritten(whole=whole):
            raise StoreLost(PUT_BACK)

    def note(self, generation: int, number: int) -> None:
        """Say how far the journal has come. Not before a generation began that is due: it must be seen again."""
        if self.restored is None or generation >= self.restored.generation:
            self._heads.newest = Head(self._journal_id, generation, number, self.opening)

    def keep(self) -> None:
        """Write the head files, also where they were removed."""
        self._heads.keep()

    def insist(self) -> None:
        """The journal was taken from us: leave at every place how far it had come, so that the next opening sees it."""
        self._heads.insist()

    def close(self) -> None:
        self._heads.close()
