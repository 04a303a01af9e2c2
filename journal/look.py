"""A look at a journal that this process does not own: the same views, read only, with no lock and no trace.

For tools beside a running server, and for a journal that a newer version wrote. It changes nothing and decides nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import codec, listing
from .clock import Clock
from .errors import JournalError
from .ids import ChatId, RunId
from .masking import Masker
from .reading import Reading
from .records import RunState
from .store.base import Reader, Row
from .store.look import Looker
from .store.peek import peek


class Look(Reading):
    """Every answer is one consistent state of its own. Raises Corrupt or Unavailable where that cannot be had.

    JournalNewer is raised by what a newer journal's tables cannot answer any more; the rest of it can be read.
    """

    def __init__(self, folder: Path, *, masker: Masker, clock: Clock | None = None) -> None:
        self._looker = Looker(Path(folder))
        super().__init__(self._looker.read, masker=masker, clock=clock or Clock(), boot_id="")

    @property
    def schema(self) -> int:
        return self._looker.schema

    @property
    def is_newer(self) -> bool:
        """A later version wrote this journal."""
        return self._looker.is_newer

    def status(self) -> dict[str, Any]:
        """JSON-ready: which journal it is, who has it, what is in it. What one of another version does not answer is None."""
        facts: dict[str, Any] = {"schema": self.schema, "newer": self.is_newer, "owned": self._looker.is_owned}
        for name, ask in (("counts", lambda tx: listing.counts(tx, "")), ("identity", _identity), ("generations", _generations)):
            try:
                facts[name] = self._looker.read(ask)
            except JournalError:
                if self._looker.is_current:
                    raise
                facts[name] = None
        return facts


def _identity(tx: Reader) -> dict[str, Any] | None:
    row = tx.one("identity")
    return None if row is None else {key: row[key] for key in ("journal_id", "generation", "number")}


def _generations(tx: Reader) -> list[dict[str, Any]]:
    return [_generation(row) for row in tx.all("generations")]


def _generation(row: Row) -> dict[str, Any]:
    return {"generation": row["generation"], "began_at": row["began_at"], "reason": row["reason"], "facts": codec.decode(row["facts"])}


def peek_unfinished(folder: Path) -> dict[ChatId, tuple[RunId, RunState]]:
    """Chats with an unfinished run, without owning the journal; empty where there is none."""
    return {row["chat_id"]: (row["run_id"], RunState(row["state"])) for row in peek(folder, "peek_unfinished")}
