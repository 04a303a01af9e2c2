"""A short look at a journal that this process does not own: rows of one query that every edition can answer."""

from __future__ import annotations

from pathlib import Path

from ..errors import StoreLost
from . import switching
from .base import Row
from .files import Files
from .look import Looker


def peek(folder: Path, query: str) -> list[Row]:
    """Rows of one query; none where there is no journal. Raises Corrupt or Unavailable when it cannot be read."""
    if switching.is_pending(folder):
        raise StoreLost("A restore was cut off. It is finished when the journal is opened.")
    try:
        if not Files(folder).exists():
            return []
        return Looker(folder).read(lambda tx: tx.all(query))
    except OSError as error:
        raise StoreLost(f"{folder}: {error.strerror}.") from error
