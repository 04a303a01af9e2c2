"""What is in force while the plugin is active: the journal, the sessions, the undo log.

One object per activation, held by the anchor. Everything else in `bridge/` is handed it and keeps no state of a chat or
a run; what a module remembers for itself is an answer of the host, or goes with the coroutine (a context variable).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..journal.records import Run
from ..journal.service import Journal
from . import paths
from .overrides import Override
from .projection import Projector
from .safekeeping import Checkup
from .service import Service
from .session import Phase, Session
from .turnstile import Turnstile
from .undo import UndoLog
from .upkeep import Upkeep

if TYPE_CHECKING:
    from .suspension import Suspension

OWN_LOOP = "DurableExecution"
_LOOK_S = 0.01


@dataclass(slots=True)
class Activation:
    """The plugin, switched on in this process."""

    journal: Journal
    host: str
    replay_pins: dict[str, str]
    live: bool  # switched on in a running host: nothing is rebuilt
    code: str  # digest of the code that this was made from
    settings: dict[str, Any]
    handlers: Mapping[str, Callable[..., Any]]  # of the code that this was made from: a purge brings other classes
    own_files: Mapping[str, str]  # digests of the plugin's files at this moment
    pinned_files: Mapping[str, str]  # digests of the host's files, as reviewed
    undo: UndoLog = field(default_factory=UndoLog)
    late: list[Override] = field(default_factory=list)  # adapters for what the host has not loaded yet
    sessions: dict[str, Session] = field(default_factory=dict)  # by the chat that is closed for anything else
    children: dict[str, Session] = field(default_factory=dict)  # by their run; those with a chat of their own stand above, too
    projectors: dict[str, Projector] = field(default_factory=dict)
    announced: set[tuple[str, str]] = field(default_factory=set)
    claiming: set[tuple[str, str]] = field(default_factory=set)
    closing: set[str] = field(default_factory=set)  # chats whose run is closed and whose task is ending
    next_turns: set[str] = field(default_factory=set)  # chats whose next turn waits until that task has ended
    unprotected: set[str] = field(default_factory=set)
    changed: dict[str, list[str]] = field(default_factory=lambda: {"plugin": [], "host": [], "journal": []})
    store_problem: str | None = None
    is_host_up: bool = False  # it has begun to watch its files, which work beside it can stop for good
    closed: bool = False
    suspension: Suspension | None = None  # everything is put aside for a restart, no step begins
    careful: bool = False  # a process ended during recovery: runs go on one at a time
    by_clock: ContextVar[bool] = field(default_factory=lambda: ContextVar("durable_execution_by_clock", default=False))  # not by hand
    lock: threading.RLock = field(default_factory=threading.RLock)
    upkeep: Upkeep = field(default_factory=Upkeep)
    checkup: Checkup = field(default_factory=Checkup)
    service: Service = field(init=False)
    launches: Turnstile = field(init=False)
    on_release: Callable[[Run], None] = field(init=False)
    on_served: Callable[[], None] = field(init=False)  # the web server answers
    on_put_back: Callable[[str], dict[str, Any]] = field(init=False)  # a person wants this backup in the journal's place
    _looked: float = -math.inf  # when the switch was last seen to be on
    _chat_locks: dict[str, threading.RLock] = field(default_factory=dict)
    _tasks: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.service = Service(self)
        self.launches = Turnstile(self.settings["resume_parallel"])

    @property
    def is_on(self) -> bool:
        """False once switched off, by the host or by hand: then every wrapper passes through."""
        now = time.monotonic()
        if self.closed or not paths.is_switched_on():
            return False
        self._looked = now
        return True

    @property
    def was_on_just_now(self) -> bool:
        """The same, and a switch by hand is seen within `_LOOK_S`: for hooks inside a turn, which come with every piece of an answer.

        A look at a file lets go of the interpreter; another thread that is busy may keep it longer than a commit takes.
        """
        if time.monotonic() - self._looked >= _LOOK_S:
            return self.is_on
        return not self.closed

    def chat_lock(self, chat_id: str) -> threading.RLock:
        """One message of a chat is taken in at a time; other chats do not wait."""
        with self.lock:
            return self._chat_locks.setdefault(chat_id, threading.RLock())

    def projector(self, chat_id: str) -> Projector:
        with self.lock:
            return self.projectors.setdefault(chat_id, Projector(self.journal.masker, self.journal.known(chat_id)))

    def add(self, session: Session) -> None:
        with self.lock:
            if session.child is not None:
                self.children[session.run.run_id] = session
            if session.child is None or session.child.has_chat:
                self.sessions[session.chat_id] = session

    def drop(self, session: Session) -> None:
        with self.lock:
            if session.child is not None:
                self.children.pop(session.run.run_id, None)
            if self.sessions.get(session.chat_id) is session:
                del self.sessions[session.chat_id]

    def every(self) -> list[Session]:
        """All sessions, each once."""
        with self.lock:
            return [*self.sessions.values(), *(s for s in self.children.values() if s.child is not None and not s.child.has_chat)]

    def session_of(self, run: Run) -> Session | None:
        return self.sessions.get(run.chat_id) if run.parent_call_id is None else self.children.get(run.run_id)

    def child_of_job(self, chat_id: str, job_id: str) -> Session | None:
        """The unfinished child that the agent of this chat knows by this name."""
        with self.lock:
            found = [s for s in self.children.values() if s.child is not None and (s.child.above, s.child.job_id) == (chat_id, job_id)]
        return found[0] if found else None

    def running(self) -> list[Session]:
        """Sessions that a coroutine works on right now. One that waits for a person is not at work."""
        return [s for s in self.every() if s.phase is Phase.RUNNING and s.is_at_work()]

    def task(self, coroutine: Any, *args: Any) -> Any:
        """Start a task of ours on our own loop; kept until done, since the host ends a forgotten one."""
        from helpers.defer import DeferredTask

        task = DeferredTask(thread_name=OWN_LOOP)
        with self.lock:
            self._tasks = {other for other in self._tasks if not other.is_ready()}
            self._tasks.add(task)
        return task.start_task(coroutine, *args)

    def answer(self, text: str) -> Any:
        """A task that answers at once; what a caller of `communicate` can wait for."""

        async def say() -> str:
            return text

        return self.task(say)
