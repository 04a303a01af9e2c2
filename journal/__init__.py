"""The engine: knows runs and calls, not Agent Zero. Standard library only.

What an agent of your own imports is listed here (docs/engine.md); the plugin's other rooms import the modules by name.
"""

from __future__ import annotations

from .clock import Clock
from .errors import (
    ChatBusy,
    Conflict,
    Corrupt,
    Failed,
    InputConflict,
    JournalError,
    KeyReused,
    NotRecordable,
    Refused,
    RunEnded,
    StepFailed,
    StepInside,
    StoreLocked,
    TurnFailed,
    Unavailable,
)
from .evidence import done, not_done, unknown
from .holds import HeldRun, RunHeld
from .ids import Ids
from .look import peek_unfinished
from .masking import Masker, Secret
from .places import step_id
from .records import Choice
from .retention import Policy
from .reviewed import Checked, Idempotent, Safe
from .service import Journal
from .steps import AsyncTurn, Turn
from .turns import Turns

__all__ = [
    "AsyncTurn",
    "ChatBusy",
    "Checked",
    "Choice",
    "Clock",
    "Conflict",
    "Corrupt",
    "Failed",
    "HeldRun",
    "Idempotent",
    "Ids",
    "InputConflict",
    "Journal",
    "JournalError",
    "KeyReused",
    "Masker",
    "NotRecordable",
    "Policy",
    "Refused",
    "RunEnded",
    "RunHeld",
    "Safe",
    "Secret",
    "StepFailed",
    "StepInside",
    "StoreLocked",
    "Turn",
    "TurnFailed",
    "Turns",
    "Unavailable",
    "done",
    "not_done",
    "peek_unfinished",
    "step_id",
    "unknown",
]
