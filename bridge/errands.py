"""What a command line asks of the running server: looked for in the journal's folder, answered beside it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..journal import asking
from ..journal.asking import RESUME, Question
from . import notify, paths, suspension

if TYPE_CHECKING:
    from .activation import Activation

_LOOK_S = 0.5
BY = "the command line"


def start(active: Activation) -> None:
    """Look for questions until the plugin goes out of force. What was asked of an earlier process counts no more."""
    asking.withdraw(paths.data_folder())
    threading.Thread(target=_watch, args=(active,), name="durable-errands", daemon=True).start()


def _watch(active: Activation) -> None:
    question: Question | None = None
    folder = paths.data_folder()
    while not active.closed:
        try:
            question = _look(active, folder, question)
        except Exception as error:  # a full disk, a folder that is gone: the one who asks hears nothing, the server goes on
            notify.write(f"A question of the command line was not answered: {type(error).__name__}.")
            question = None
        time.sleep(_LOOK_S)


def _look(active: Activation, folder: Path, before: Question | None) -> Question | None:
    """Do what is asked now; else say how far the last thing is. Answers with what is still to be said something about."""
    question = asking.take(folder) or before
    if question is None:
        return None
    facts = _resume(active) if question.what == RESUME else _suspend(active)
    asking.answer(folder, question, facts)
    return question if facts["state"] == "suspending" else None


def _resume(active: Activation) -> dict[str, Any]:
    count = suspension.lift(active)
    return {"state": "running", "safe": True, "runs": count, "text": f"Nothing is suspended any more; {count} run(s) go on."}


def _suspend(active: Activation) -> dict[str, Any]:
    suspension.begin(active, BY)
    return suspension.view(active) or {"state": "running", "safe": False, "text": "It was taken back."}
