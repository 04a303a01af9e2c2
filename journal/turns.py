"""The door for any Python agent: open a journal, take turns, decide what is held.

A turn is known by the id of its message. Asked for again it goes on where it was, or hands back its answer. The
lifecycle is the engine's own: admitted, counted before it is continued, classified, claimed, closed.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .clock import Clock
from .driving import Effect, Work, drive, drive_async
from .errors import ChatBusy, Corrupt, Failed, JournalError, NotRunning, RecordCorrupt, RunEnded, TurnFailed
from .holds import HeldRun, RunHeld
from .masking import Masker, Secret, from_environment
from .places import PATH
from .records import Admitted, Choice, Claim, Hold, HoldReason, ResumePoint, Run, RunState
from .reviewed import Entry, Reviewed
from .service import Journal
from .steps import AsyncTurn, Turn, TurnBase, check_recordable, described
from .trees import Pack

_MODE = {"on_restart": "auto"}


class Turns:
    """An agent's turns in one journal, owned by this process. Usable from any number of threads."""

    def __init__(self, journal: Journal, reviewed: Reviewed) -> None:
        self.journal = journal
        self._reviewed = reviewed
        journal.permission_now = reviewed.permission_of
        self._lock = threading.Lock()
        self._at_work: set[str] = set()

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        reviewed: Iterable[Entry] = (),
        *,
        secrets: Callable[[], Iterable[Secret]] = from_environment,
        clock: Clock | None = None,
    ) -> Turns:
        """Take the ownership of the journal in this folder. StoreLocked if another process has it.

        `reviewed` says which steps may be repeated without a person; `secrets` what is never written down.
        """
        declared = Reviewed(reviewed)
        masker = Masker(secrets, clock)
        boot = {"pid": os.getpid()}
        return cls(Journal.open(Path(folder), masker=masker, clock=clock, boot=boot, allowlist=declared.allowlist), declared)

    def close(self) -> None:
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # -- turns ----------------------------------------------------------------------------------

    def run(self, chat_id: str, message_id: str, loop: Callable[..., Any], /, **message: Any) -> Any:
        """Begin or continue the turn of a message: `loop(turn, **message)`, and hand back its recorded answer.

        RunHeld: a person has to decide. TurnFailed: the loop raised. ChatBusy: another message of the chat is unfinished,
        or this one is at work elsewhere in the process. RunEnded: a person stopped it, or its record was removed since.
        """
        if inspect.iscoroutinefunction(loop):
            raise TypeError("a coroutine function runs with run_async")
        return drive(self._run(Turn, chat_id, message_id, loop, message))

    async def run_async(self, chat_id: str, message_id: str, loop: Callable[..., Any], /, **message: Any) -> Any:
        """The same for a coroutine function."""
        return await drive_async(self._run(AsyncTurn, chat_id, message_id, loop, message))

    def unfinished(self) -> list[Run]:
        """Turns that have not ended: `run(each.chat_id, each.input_id, loop, **each.input)` continues one."""
        return self.journal.unfinished()

    # -- decisions ------------------------------------------------------------------------------

    def held(self) -> list[HeldRun]:
        """What waits for a person."""
        return [HeldRun.read(self.journal, run.run_id) for run in self.journal.unfinished() if run.state is RunState.HELD]

    def decide(
        self,
        held: HeldRun,
        choice: Choice,
        *,
        origin: str,
        step: str = "",
        note: str = "",
        ack: bool = False,
        result_text: str | None = None,
    ) -> Run:
        """Record what a person said about what they were shown; then run the turn again. `origin` says who said it, and where."""
        decision = held.decision(choice, origin=origin, step=step, note=note, ack=ack, result_text=result_text)
        return self.journal.decide(decision).result()

    def grant(self, held: HeldRun, attempts: int = 1, *, origin: str, step: str = "") -> Run:
        """Allow a model call that was cut off one to three more attempts; then run the turn again."""
        call_id = held.cut_off(step)
        request = f"{call_id}:{held.run.version}:{attempts}"
        return self.journal.grant(held.run.run_id, held.run.version, call_id, attempts, request, origin).result()

    # -- the life of a turn ---------------------------------------------------------------------

    def _run(self, kind: type[TurnBase], chat_id: str, message_id: str, loop: Callable[..., Any], message: dict[str, Any]) -> Work[Any]:
        inspect.signature(loop).bind(None, **message)  # a loop that cannot take the message fails here, not as the end of a turn
        check_recordable(message, "The message")
        title = next((value for value in message.values() if isinstance(value, str)), message_id)
        admitted: Admitted = yield self.journal.admit(chat_id, message_id, message, title, _MODE, self._no_state())
        if admitted.run.is_removed:
            raise RunEnded(admitted.run)
        with self._alone(admitted.run):
            run = self.journal.run(admitted.run.run_id)
            if run.state.is_final:
                return _recorded_end(run)
            is_new = not admitted.repeat and run.version == admitted.run.version
            claim = Claim(run, run.token, 0) if is_new else (yield from self._continue(run))
            turn = kind(self.journal, self._reviewed, claim, self.journal.calls(run.run_id))
            return (yield from self._through(turn, claim, loop))

    @contextmanager
    def _alone(self, run: Run) -> Iterator[None]:
        """One life of a turn at a time: a second one would take the run away from the first."""
        with self._lock:
            if run.run_id in self._at_work:
                raise ChatBusy(run)
            self._at_work.add(run.run_id)
        try:
            yield
        finally:
            with self._lock:
                self._at_work.discard(run.run_id)

    def _continue(self, run: Run) -> Work[Claim]:
        """Count the attempt, look what is known, and go on or wait for a person (I10)."""
        if run.hold is None:
            try:
                run = yield self.journal.begin_recovery(run.run_id)
                hold = self.journal.classify(run.run_id, self._reviewed.permission_of)
            except Corrupt as error:
                hold = Hold(HoldReason.CHECKPOINT_CORRUPT, text=str(error))
            if run.hold is None:
                run = yield self.journal.settle(run.run_id, hold)
        if run.hold is not None:
            raise RunHeld(HeldRun.read(self.journal, run.run_id))
        claim: Claim = yield self.journal.claim(run.run_id)
        return claim

    def _through(self, turn: TurnBase, claim: Claim, loop: Callable[..., Any]) -> Work[Any]:
        """Let the loop work, and record how the turn ended."""
        try:
            answer = yield Effect.of(loop, turn, **claim.run.input)
        except JournalError as error:
            if not isinstance(error, Failed):
                # Held, refused, or out of reach: no end of the turn. Where this cannot be written, the next life finds it so.
                with suppress(JournalError):
                    yield turn.suspended()
                raise
            yield from self._fail(turn, claim, error)
        except Exception as error:
            yield from self._fail(turn, claim, error)
        except GeneratorExit:
            raise
        except BaseException:
            yield turn.suspended()
            raise
        yield from turn.nothing_left()
        return (yield from self._close(claim, RunState.COMPLETED, answer))

    def _fail(self, turn: TurnBase, claim: Claim, error: Exception) -> Work[None]:
        yield from turn.nothing_going_on()
        facts = described(error)
        yield from self._close(claim, RunState.FAILED, facts)
        raise TurnFailed(claim.run.run_id, error_type=facts["type"], text=facts["text"]) from error

    def _close(self, claim: Claim, state: RunState, answer: Any) -> Work[Any]:
        try:
            yield self.journal.close_run(claim.run.run_id, claim.token, state, answer)
        except NotRunning as refusal:
            if refusal.run.hold is not None:  # a loop that went on after RunHeld
                raise RunHeld(HeldRun.read(self.journal, claim.run.run_id)) from None
            raise
        return self.journal.run(claim.run.run_id).answer

    def _no_state(self) -> ResumePoint:
        """A loop keeps no state of its own here: it begins at its top, and its records lead it to where it was."""
        pack = Pack(self.journal.masker, set())
        return ResumePoint(pack.put({}), pack.nodes, {PATH: 0})


def _recorded_end(run: Run) -> Any:
    if run.damaged:
        raise RecordCorrupt(run.damaged)
    if run.state is RunState.FAILED:
        facts = run.answer if isinstance(run.answer, dict) else {}
        raise TurnFailed(run.run_id, error_type=str(facts.get("type", "")), text=str(facts.get("text", "")))
    if run.state is RunState.STOPPED:
        raise RunEnded(run)
    return run.answer
