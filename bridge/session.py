"""One unfinished run in this process: how its steps begin and end, how it waits for a person, who waits for it.

A session belongs to a chat and outlives the coroutines that work on it: a nudge or a
decision starts a new coroutine for the same run. `generation` fences the old one.
Where the run stands is counted in `position.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..journal.errors import JournalError
from ..journal.ids import CallId, InputId
from ..journal.modes import Mode
from ..journal.records import (
    Call,
    CallKey,
    Claim,
    Held,
    HoldReason,
    Outcome,
    Permission,
    Proceed,
    Run,
    RunState,
    Serve,
    Step,
)
from . import notify, programs, waiting
from .points import LastPoint
from .position import Position
from .projection import Projector
from .senders import Sends

if TYPE_CHECKING:
    from .activation import Activation
    from .children import Child
    from .messages import Message

_PARK_S = 0.1


class Phase(Enum):
    """Whether the run is at work in this process, waits, or is over."""

    READY = "ready"  # waits for its launch
    RUNNING = "running"  # a coroutine works on it
    HELD = "held"  # waits for a person
    PARKED = "parked"  # held, and a coroutine waits inside a hook
    ENDED = "ended"


@dataclass(slots=True)
class Session:
    """State of one run. The chat's loop, admitting threads and the panel's touch it: what belongs together changes under `lock`."""

    activation: Activation
    run: Run
    projector: Projector
    phase: Phase = Phase.RUNNING
    cursor: int = 0
    generation: int = 0
    position: Position = field(default_factory=Position)
    point: LastPoint = field(default_factory=LastPoint)
    given_back: set[str] = field(default_factory=set)  # paths whose last answer came from its record
    messages: list[Message] = field(default_factory=list)
    sends: Sends = field(default_factory=Sends)  # replies through integrations
    giving_back: bool = False  # a recorded answer of the model is being drawn
    delivering: bool = False  # we add messages ourselves: our own hooks stand back
    just_delivered: list[InputId] = field(default_factory=list)  # since the open call began
    recorded: dict[str, list[str]] = field(default_factory=dict)  # keys that an earlier life wrote: messages delivered before
    limits: dict[int, dict[str, int]] = field(default_factory=dict)  # what agents had used of the host's, by number
    questions: dict[tuple[str, str], int] = field(default_factory=dict)  # how often this life asked the same beside the turn
    caller_gone: bool = False  # a program asked for this turn, and nobody will take its chat away
    starting: bool = False  # a message was admitted for it, and the host has not started its coroutine yet
    resumed: bool = False  # a restart or a decision continued this run in a new coroutine
    fresh: bool = False  # the chat stands exactly at its resume point
    volatile: list[str] = field(default_factory=list)
    answered: bool = False  # the loop at the resume point had an answer of the model already
    ended_by: str = ""
    answer: Any = None  # what the turn returned
    error: Exception | None = None  # or raised
    handle: asyncio.Task[Any] | None = None  # a coroutine of the host that is not the chat's own task
    lock: threading.RLock = field(default_factory=threading.RLock)
    outcome: Future[str] = field(default_factory=Future)
    on_passed: Callable[[], None] | None = None
    child: Child | None = None

    @property
    def chat_id(self) -> str:
        return self.run.chat_id

    @property
    def mode(self) -> Mode:
        """What was chosen for this run when it was admitted."""
        return Mode.of(self.run.mode)

    def context(self) -> Any:
        """The host's chat, or None when it is gone."""
        from agent import AgentContext

        return AgentContext.get(self.chat_id)

    @property
    def is_unfinished(self) -> bool:
        return self.phase is not Phase.ENDED

    def is_at_work(self) -> bool:
        """Some coroutine of the host works on this chat, ours or not."""
        if self.child is None:
            ctx, handle = self.context(), self.handle
            return bool(ctx is not None and ctx.is_running()) or (handle is not None and not handle.done())
        task = self.child.job.deferred_task if self.child.job is not None else None
        return bool(task is not None and task.is_alive())

    def works_in(self, ctx: Any) -> bool:
        """Whether this is where the run's steps happen. A tool's job has a worker chat that is made anew for it."""
        if self.child is None or self.child.has_chat:
            return bool(ctx.id == self.chat_id)
        return bool(ctx.data.get("_parallel_job_id") == self.child.job_id)

    def shown_in(self) -> set[str]:
        """The chats in which a person sees that it waits."""
        return {self.chat_id} if self.child is None else {self.chat_id, self.child.above}

    def is_lost(self) -> bool:
        """The run counts as running and no coroutine works on it: something ended the task behind our back."""
        return self.phase is Phase.RUNNING and not self.is_at_work()

    # -- calls ------------------------------------------------------------------

    async def begin(
        self,
        key: CallKey,
        *,
        name: str,
        identity_of: Any,
        arguments: Any,
        permission: Permission,
        unservable: Callable[[Call], str],
        extra: dict[str, Any] | None = None,
    ) -> Proceed | Serve:
        """Write the intent, or find the record: what the planner says, after any hold was decided (I1).

        `unservable` says why a record cannot be given back, or "" when it can.
        """
        journal = self.activation.journal

        def submit() -> Future[Step]:
            self.point.again_if_lost()
            return journal.begin_call(
                self.run.run_id,
                self.run.token,
                self.cursor,
                key,
                name=name,
                identity_of=identity_of,
                arguments=arguments,
                permission=permission,
                extra=extra,
            )

        large = waiting.is_large(arguments, extra)
        here = self.generation, self.handle is not None
        while True:
            await self._wait_suspended()
            try:
                step = await waiting.durable(submit, self.note_store, large=large)
            except JournalError as error:
                raise notify.stopped(str(error)) from error
            if isinstance(step, Held):
                await self._park(*here)
                continue
            if isinstance(step, Serve) and (why := unservable(step.call)):
                await self.hold(HoldReason.NOT_SERVABLE, step.call.call_id, why)
                continue
            if isinstance(step, Proceed) and step.progress:
                self.passed_cursor()
            return step

    async def _wait_suspended(self) -> None:
        """While everything is put aside no step begins; whoever stands here is ended, or goes on when that is taken back."""
        generation = self.generation
        while self.activation.suspension is not None and not self.activation.closed:
            await asyncio.sleep(_PARK_S)
            if self.generation != generation:
                raise notify.stopped(notify.SUSPENDED)

    async def hold(self, reason: HoldReason, call_id: CallId | None, text: str) -> None:
        """Hold the run for a step that turned out impossible, and wait here for the decision."""
        here = self.generation, self.handle is not None
        try:
            held = await waiting.durable(
                lambda: self.activation.journal.hold_run(self.run.run_id, reason, call_id=call_id, text=text),
                self.note_store,
            )
            if held.hold is not None:
                await self._park(*here)
        except JournalError as error:
            raise notify.stopped(str(error)) from error

    async def hold_open(self, call: Call, why: str) -> None:
        """Hold the run for a living step that ended without proof, and wait here; then the planner is asked about it again."""
        await self.hold(HoldReason.OUTCOME_UNKNOWN, call.call_id, why)

    async def check_asked(self, path: str) -> None:
        """A tool call stands on an answer of the model that is recorded; else a step went by without us, and a person looks."""
        if self.position.is_unrecorded(path):
            await self.hold(HoldReason.UNRECORDED_STEP, None, "")
            self.position.asked[path] = 0  # a person lets it go on

    def passed_cursor(self) -> None:
        """The run made progress of its own, waits, or is over: the next one may be launched."""
        with self.lock:
            passed, self.on_passed = self.on_passed, None
        if passed is not None:
            passed()

    async def _park(self, generation: int, leaves: bool) -> None:
        """Wait inside a hook, the way the host's own pause waits, until a person decided.

        A coroutine that somebody counts as running `leaves`: it is cancelled, and the run goes on in another one.
        """
        if not self._stand(generation, leaves):
            return
        self._tell_waiting()
        if leaves:
            raise asyncio.CancelledError
        while self.phase is Phase.PARKED and not self.activation.closed:
            await asyncio.sleep(_PARK_S)
        if self.phase is not Phase.RUNNING or self.generation != generation:
            raise notify.stopped(self.ended_by or "This run was ended by a person.")

    def _stand(self, generation: int, leaves: bool) -> bool:
        """Whether this coroutine of that generation waits; False if it goes on already, and raises if it is over.

        People see a hold from its commit on. Who decided a moment before this coroutine came here waits until it stands
        (`launching.let_park`); who waited for that in vain, in a loop that others kept busy, has set the run going in another one.
        """
        run = self.activation.journal.run(self.run.run_id)
        with self.lock:
            is_mine = self.generation == generation and self.phase in (Phase.RUNNING, Phase.PARKED)
            if is_mine and run.hold is None and run.state is RunState.RUNNING and run.token == self.run.token:
                return False
            if is_mine and (run.hold is not None or run.state is RunState.QUEUED):
                if leaves:
                    self.handle = None if self.handle is _current_task() else self.handle
                    self.fence(run)
                self.run, self.phase, self.fresh = run, Phase.HELD if leaves else Phase.PARKED, self.fresh and not leaves
                return True
        raise asyncio.CancelledError if leaves else notify.stopped(self.ended_by or "This run goes on elsewhere.")

    def lost_its_task(self, why: str) -> None:
        """Somebody cancelled this run's task in the middle, which ends no run (I3): a person is asked, about what is unknown or at all."""
        journal = self.activation.journal
        run = waiting.commit(journal.interrupt_run(self.run.run_id, "its task was cancelled"))
        if run.state is RunState.RUNNING:
            run = waiting.commit(journal.hold_run(run.run_id, HoldReason.ASK, text=why))
        self.fence(run)  # after both: whoever tries again must find it as it was
        self.fresh = False
        self.wait_for_person(run)

    def note_store(self, problem: str | None) -> None:
        """Show why a step waits for the journal, and take it back when it goes on."""
        self.activation.store_problem = problem
        notify.store(self, problem)

    async def finish(self, call: Call, outcome: Outcome, value: Any, *, usage: dict[str, Any] | None = None, extra: dict[str, Any]) -> None:
        """Commit a result before anything acts on it; parked while the store cannot take it. Raises nothing of ours.

        The first result wins (I2): what a rule refuses is kept beside it, and the next step is fenced.
        """
        journal = self.activation.journal
        if self.activation.closed:
            return  # switched off by hand during the effect: the call stays unknown
        with contextlib.suppress(JournalError):
            await waiting.durable(
                lambda: journal.finish_call(call.call_id, outcome, value, usage=usage, extra=extra),
                self.note_store,
                large=waiting.is_large(value, extra),
            )

    async def close(self, call: Call, value: Any, outcome: Outcome = Outcome.OK) -> None:
        """Commit the result of a call whose work was done in calls of its own, maybe in several lives."""
        journal = self.activation.journal
        if self.activation.closed:
            return
        with contextlib.suppress(JournalError):  # stopped or held meanwhile: its own calls say how far it came
            await waiting.durable(
                lambda: journal.close_call(self.run.run_id, self.run.token, call.call_id, outcome, value),
                self.note_store,
                large=waiting.is_large(value),
            )

    # -- holds, lives and the end -----------------------------------------------

    def wait_for_person(self, run: Run) -> None:
        """A hold comes into force: the chat says so, and callers are let go."""
        with self.lock:
            self.run, self.phase = run, Phase.HELD
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        hold = self.run.hold
        self.passed_cursor()
        if hold is not None:
            notify.held(self, hold)
        self.say("held")

    def claimed(self, claim: Claim) -> None:
        """The run goes on under a new token; what was recorded until now is served."""
        with self.lock:
            self.run, self.cursor, self.phase = claim.run, claim.cursor, Phase.RUNNING
            self.questions.clear()
            self.listen_again()

    def fence(self, run: Run) -> None:
        """The coroutine that works on this run writes nothing any more and starts no effect."""
        with self.lock:
            self.run = run
            self.generation += 1
            self.starting = False
            self.position.open_tools.clear()
            self.point.forget()
            handle, self.handle = self.handle, None
        if handle is not None and not handle.done():
            with contextlib.suppress(RuntimeError):  # its loop has ended
                handle.get_loop().call_soon_threadsafe(handle.cancel)

    def end(self, run: Run, word: str, why: str = "") -> None:
        """This run is over in this process: its coroutine is fenced and its callers are let go."""
        self.fence(run)
        with self.lock:
            self.phase, self.ended_by = Phase.ENDED, why
        self.activation.drop(self)
        notify.at_rest(self)
        self.passed_cursor()
        self.say(word)
        if self.caller_gone:
            programs.take_away(self)

    # -- callers ----------------------------------------------------------------

    def say(self, what: str) -> None:
        """Let callers go who wait for this turn; later callers wait for the next word."""
        with self.lock:
            if not self.outcome.done():
                self.outcome.set_result(what)

    def listen_again(self) -> None:
        with self.lock:
            if self.outcome.done():
                self.outcome = Future()


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
