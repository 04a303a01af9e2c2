"""The engine: knows runs and calls, not Agent Zero. Standard library only; other rooms use what is listed here."""

from __future__ import annotations

from .clock import Clock
from .errors import Conflict, Corrupt, JournalError, Refused, Unavailable
from .ids import Ids
from .masking import Masker
from .service import Journal, peek_unfinished

__all__ = [
    "Clock",
    "Conflict",
    "Corrupt",
    "Ids",
    "Journal",
    "JournalError",
    "Masker",
    "Refused",
    "Unavailable",
    "peek_unfinished",
]
