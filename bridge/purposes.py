"""What the host asks a model for beside the turn: known by the file that asks, since the call itself does not say.

A file that is not listed asks for itself: the same question is answered from the record after a crash, and nothing is dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

from ..journal.background import Purpose
from . import paths

_MEMORY = "plugins/_memory/extensions/python"

KNOWN: Mapping[str, Purpose] = {
    "extensions/python/monologue_start/_60_rename_chat.py": Purpose("naming", once=True),
    f"{_MEMORY}/monologue_end/_50_memorize_fragments.py": Purpose("memorize_fragments", once=True, served=False),
    f"{_MEMORY}/monologue_end/_51_memorize_solutions.py": Purpose("memorize_solutions", once=True, served=False),
    f"{_MEMORY}/message_loop_prompts_after/_50_recall_memories.py": Purpose("recall"),
    "plugins/_memory/helpers/memory_consolidation.py": Purpose("consolidation"),
    "helpers/history.py": Purpose("compression"),
    "plugins/_chat_compaction/helpers/compactor.py": Purpose("compaction"),
}
SAVES_ITS_CHAT = "naming"
"""The purpose after whose answer the host writes the file of the chat, whatever became of the chat meanwhile."""
_PLUMBING = {"agent.py", "models.py", "helpers/extension.py"}
_DOORS = {"call_utility_model", "call_chat_model"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The purpose of the call that is being made, and the agent that it is made for, where that can be seen."""

    purpose: Purpose
    agent: Any


def of_caller() -> Asked:
    """Look up the waiting coroutines: from this hook through the host's plumbing to the file that wants an answer."""
    agent = None
    for frame, file in _host_frames():
        if file in _PLUMBING:
            if frame.f_code.co_name in _DOORS:
                agent = frame.f_locals.get("self")
            continue
        return Asked(KNOWN.get(file) or Purpose(Path(file).stem.lstrip("_0123456789") or "other"), agent)
    return Asked(Purpose("other"), agent)


def _host_frames() -> Iterator[tuple[FrameType, str]]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if (file := _in_host(frame.f_code.co_filename)) is not None:
            yield frame, file
        frame = frame.f_back


@lru_cache(maxsize=1024)
def _in_host(filename: str) -> str | None:
    """The path below the host's folder; None for what is not the host's, and for our own files."""
    path = Path(filename).absolute()
    if path.is_relative_to(paths.ROOT) or not path.is_relative_to(paths.host_root()):
        return None
    return path.relative_to(paths.host_root()).as_posix()
