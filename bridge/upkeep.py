"""When retention runs: some time after the start and then daily, in a thread of its own, never beside a recovery.

What goes is the journal's business. An error here is noted and nothing else: upkeep never stops a chat or the host.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from ..journal.errors import JournalError, StoreClosed
from ..journal.retention import Policy
from . import notify
from .session import Phase, Session

if TYPE_CHECKING:
    from .activation import Activation

FIRST_S = 600.0
EVERY_S = 86_400.0
REST_S = 0.02
STOP_S = 10.0


class Upkeep:
    """The clockwork of one activation; its tick comes once a minute."""

    def __init__(self) -> None:
        self._due = time.monotonic() + FIRST_S
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def tick(self, active: Activation) -> None:
        """Begin a round if one is due and nothing is being recovered."""
        at_work = self._thread is not None and self._thread.is_alive()
        if at_work or self._stop.is_set() or time.monotonic() < self._due or is_recovering(active):
            return
        self._due = time.monotonic() + EVERY_S
        self._thread = threading.Thread(target=self._round, args=(active,), name="durable-upkeep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End a round between two of its steps, and wait for that; nothing is begun any more. What is later finds the journal closed."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_S)

    def _round(self, active: Activation) -> None:
        try:
            forget_idle(active)
            policy = Policy(active.settings["retention_runs"], active.settings["retention_days"])
            removed = active.journal.prune(policy, rest=lambda: self._stop.wait(REST_S) or is_recovering(active))
            if removed.problem:
                notify.write(removed.problem)
            if not removed.complete and not self._stop.is_set():
                self._due = time.monotonic() + FIRST_S  # a recovery came in between
        except StoreClosed:
            return
        except JournalError as error:
            notify.write(f"Old runs were not removed this time. {error}")
        except Exception as error:  # a fault of ours must not end as a traceback that quotes a run
            notify.write(f"Old runs were not removed this time: {type(error).__name__}.")


def is_recovering(active: Activation) -> bool:
    """Some run is about to be continued, or has not passed what was saved yet."""
    return any(session.on_passed is not None or _is_due(session) for session in active.every())


def _is_due(session: Session) -> bool:
    """A job that no step of its parent has asked for yet is not: the parent may wait for a person, for days."""
    return session.phase is Phase.READY and (session.child is None or session.child.job is not None)


def forget_idle(active: Activation) -> None:
    """Chats without an unfinished run hand their next resume point in whole, so that old parts of it may go."""
    for chat_id in list(active.projectors):
        with active.chat_lock(chat_id):  # no message of this chat is being taken in, and no step of it is under way
            if chat_id not in active.sessions:
                active.journal.forget_known(chat_id)
