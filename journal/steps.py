"""One step of a turn: run once and recorded, or its record handed back.

The plan is the engine's own (`recovery.begin_call`, `lose_call`). What is handed back is always the record, in the
first life as in every later one, so that a loop cannot tell them apart. Between an effect and its result nothing raises.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .driving import Effect, Pause, Work, drive, drive_async
from .errors import KeyReused, NotRecordable, NotRunning, StepFailed, StepInside, StoreClosed, Unavailable
from .evidence import Finding, Found, unknown
from .holds import HeldRun, RunHeld
from .ids import CallId, RunId
from .places import Counter, Place
from .planner import Next, next_step
from .records import Call, CallKey, Claim, Held, HoldReason, Outcome, Permission, Proceed, Run, Serve, Step
from .replay import KEY_UNTIL, idempotency_key
from .reviewed import Checked, Entry, Idempotent, Reviewed, Safe, name_of
from .service import Journal
from .silence import proves_nothing
from .values import foreign_part

_PAUSE_S = 0.25
_MOST_PAUSES = 240
_NO_KEY = "(the key)"

_inside: ContextVar[tuple[tuple[RunId, str], ...]] = ContextVar("durable_steps", default=())
"""The steps whose functions run here: a step may run a turn of its own, and may not ask for a step of its own turn."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A step as the loop asks for it."""

    place: Place
    entry: Entry | None
    permission: Permission
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return name_of(self.function)

    @property
    def is_inference(self) -> bool:
        return self.place.key.kind.is_inference

    def effect(self, call: Call) -> Effect:
        if isinstance(self.entry, Idempotent):
            return Effect.of(self.function, *self.args, **self.kwargs, **{self.entry.key: idempotency_key(call)})
        return Effect.of(self.function, *self.args, **self.kwargs)


class TurnBase:
    """A turn at work: its places, its records, its steps."""

    is_async = False

    def __init__(self, journal: Journal, reviewed: Reviewed, claim: Claim, recorded: list[Call]) -> None:
        self.run_id, self.chat_id, self.message_id = claim.run.run_id, claim.run.chat_id, claim.run.input_id
        self._journal, self._reviewed, self._claim = journal, reviewed, claim
        self._counter = Counter()
        self._recorded: dict[CallKey, Call] = {call.key: call for call in recorded if not call.abandoned}
        self._not_asked_for = dict(self._recorded)
        self._free: set[Place] = set()
        self._open: set[CallId] = set()

    def place(self, what: str) -> Place:
        """Take the next place now, for a step that runs later: in another thread, or beside others."""
        place = self._counter.next(what)
        self._not_asked_for.pop(place.key, None)
        self._free.add(place)
        return place

    def _use(self, place: Place) -> Place:
        """A place is for one step: two at once would both find it free."""
        try:
            self._free.remove(place)
        except KeyError:
            raise KeyReused(self.run_id, place.key) from None
        return place

    # -- the core -------------------------------------------------------------------------------

    def _work(self, what: str | Place, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Work[Any]:
        """Take the place now; the work itself is done by a driver."""
        for run_id, step in _inside.get():
            if run_id == self.run_id:
                raise StepInside(step)
        entry = self._reviewed.entry(function)
        runs = (function, entry.check) if isinstance(entry, Checked) else (function,)
        if not self.is_async and any(inspect.iscoroutinefunction(each) for each in runs):
            raise TypeError(f"{name_of(function)} needs an event loop: run the turn with run_async")
        arguments = _named_arguments(function, args, kwargs, entry)
        place = self._use(what if isinstance(what, Place) else self.place(what))
        asked = _Asked(place, entry, self._reviewed.permission(function), function, args, kwargs)
        if asked.is_inference:
            arguments = {}  # a prompt only grows, and a model step is known by its place
        check_recordable(arguments, f"{place} ({asked.name})")
        return self._take(asked, arguments)

    def _take(self, asked: _Asked, arguments: dict[str, Any]) -> Work[Any]:
        try:
            return (yield from self._once(asked, arguments))
        except (Exception, GeneratorExit):
            raise
        except BaseException:
            # Cancelled or interrupted, and a loop may catch this and go on: it finds that its run waits.
            yield self.suspended()
            raise

    def _once(self, asked: _Asked, arguments: dict[str, Any]) -> Work[Any]:
        yield from self.nothing_left_out(asked.place)
        recorded = self._recorded.get(asked.place.key)
        finding = (yield from self._look(asked, recorded)) if recorded is not None else None
        step: Step = yield self._begin(asked, arguments, finding)
        while isinstance(step, Proceed):
            step = yield from self._attempt(asked, step.call)
        if isinstance(step, Held):
            raise RunHeld(HeldRun.read(self._journal, self.run_id))
        return _handed_back(asked.place, step.call)

    def _begin(self, asked: _Asked, arguments: dict[str, Any], finding: Finding | None) -> Future[Step]:
        place, extra = asked.place, dict(asked.place.extra)
        if isinstance(asked.entry, Idempotent):
            extra[KEY_UNTIL] = self._journal.clock.now() + int(asked.entry.keeps_for.total_seconds() * 1000)
        whole = [place.key.path, place.key.step] if asked.is_inference else [asked.name, place.id, arguments]
        return self._journal.begin_call(
            self.run_id,
            self._claim.token,
            self._claim.cursor,
            place.key,
            name=asked.name,
            identity_of=whole,
            arguments=arguments,
            permission=asked.permission,
            extra=extra,
            finding=finding,
        )

    def _attempt(self, asked: _Asked, call: Call) -> Work[Step]:
        """Run the effect once, and record how it ended; where that proves nothing, the planner says what is next."""
        self._open.add(call.call_id)
        around = _inside.get()
        _inside.set((*around, (self.run_id, str(asked.place))))
        try:
            value = yield asked.effect(call)
        except (RunHeld, NotRunning, Unavailable):
            # The function runs a turn of its own, which waits or cannot go on: that is no answer of this step.
            yield self.suspended()
            raise
        except Exception as error:
            silent = proves_nothing(error) and not asked.is_inference
            if silent and not isinstance(asked.entry, Safe):
                return (yield from self._lose(asked, call))
            outcome = Outcome.UNKNOWN if silent else Outcome.ERROR
            facts = described(error)
            saved = yield from self._save(call.call_id, outcome, facts, facts["text"])
            raise _failure(asked.place, saved) from error
        finally:
            _inside.set(around)
        return Serve((yield from self._save(call.call_id, Outcome.OK, value)))

    def suspended(self) -> Future[Run]:
        """This life of the turn is over: held if anything is unknown by now, else it waits to be run again."""
        return self._journal.suspend_run(self.run_id, self._claim.token, self._reviewed.permission_of)

    def _lose(self, asked: _Asked, call: Call) -> Work[Step]:
        finding = yield from self._look(asked, call)
        if finding is not None and finding.found is Found.NOT_DONE:
            # It was started a moment ago: what has not arrived yet may still be on its way.
            finding = unknown(f"Not done so far. {finding.seen}".strip())
        step: Step = yield self._journal.lose_call(self.run_id, self._claim.token, call.call_id, asked.permission, finding)
        return step

    def _look(self, asked: _Asked, call: Call) -> Work[Finding | None]:
        """Ask the check of a call that was cut off, if the planner wants one."""
        plan = next_step(call, asked.permission, self._journal.allowlist, self._journal.clock.now())
        if plan is not Next.CHECK or not isinstance(asked.entry, Checked):
            return None
        try:
            answer = yield Effect.of(asked.entry.check, *asked.args, **asked.kwargs)
        except Exception as error:
            return unknown(f"The check raised {type(error).__name__}: {described(error)['text']}")
        return answer if isinstance(answer, Finding) else unknown(f"The check answered {type(answer).__name__}.")

    def _save(self, call_id: CallId, outcome: Outcome, value: Any, error: str = "") -> Work[Call]:
        """Write a result, and wait as long as the journal can only not take it now: the effect has happened."""
        pauses = 0
        while True:
            try:
                saved: Call = yield self._journal.finish_call(call_id, outcome, value, error=error)
            except StoreClosed:
                raise
            except Unavailable:
                pauses += 1
                if pauses > _MOST_PAUSES:
                    raise
                yield Pause(_PAUSE_S)
                continue
            if saved.outcome is None:  # kept beside the record: the run was stopped, or goes on elsewhere
                raise NotRunning(self._journal.run(self.run_id), token=self._claim.token)
            self._open.discard(call_id)
            return saved

    # -- whether the loop fits its record -------------------------------------------------------

    def nothing_left_out(self, now: Place) -> Work[None]:
        """Hold a loop that goes past a step on record: it is not the loop that was recorded."""
        left_out = [call for key, call in list(self._not_asked_for.items()) if key.step < now.key.step]
        if left_out:
            yield from self._diverged(left_out, str(now))

    def nothing_left(self) -> Work[None]:
        """Hold a loop that ends before a step on record."""
        left_out = [*self._not_asked_for.values(), *(self._recorded[place.key] for place in self._free if place.key in self._recorded)]
        if left_out:
            yield from self._diverged(left_out, "the end of the turn")
        yield from self.nothing_going_on()

    def nothing_going_on(self) -> Work[None]:
        """Hold a loop that ends, whichever way, while the effect of a step is still going on."""
        unknown_now = self._journal.classify(self.run_id, self._reviewed.permission_of) if self._open else None
        if unknown_now is not None:
            yield self._journal.hold_run(self.run_id, unknown_now.reason, unknown_now.call_id)
            raise RunHeld(HeldRun.read(self._journal, self.run_id))

    def _diverged(self, left_out: list[Call], now: str) -> Work[None]:
        first = min(left_out, key=lambda call: call.seq)
        facts = {"recorded": {"name": first.name, "arguments": first.arguments}, "now": {"name": now}}
        yield self._journal.hold_run(self.run_id, HoldReason.DIVERGED, call_id=first.call_id, facts=facts)
        raise RunHeld(HeldRun.read(self._journal, self.run_id))


class Turn(TurnBase):
    """What a loop gets. Everything that it does to the world goes through `step`."""

    def step(self, what: str | Place, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run the function once and record it, or hand back the record.

        `what` is `"model"`, `"tool:<the provider's id of the call>"`, `"utility"`, `"delivery"`, or a place taken before.
        Raises StepFailed where the record is an error, RunHeld where a person has to decide.
        """
        return drive(self._work(what, function, args, kwargs))


class AsyncTurn(TurnBase):
    """The same for a coroutine."""

    is_async = True

    def step(self, what: str | Place, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """As `Turn.step`, to be awaited. The place is taken at the call, so steps beside each other keep their order."""
        return drive_async(self._work(what, function, args, kwargs))


def described(error: BaseException) -> dict[str, str]:
    """What is recorded of an error: its type and its text, whatever its text does."""
    kind = type(error)
    try:
        text = str(error)
    except Exception as broken:
        text = f"(its text could not be read: {type(broken).__name__})"
    return {"type": f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."), "text": text}


def _handed_back(place: Place, call: Call) -> Any:
    if call.outcome in (Outcome.OK, Outcome.CONFIRMED):
        return call.value
    raise _failure(place, call)


def _failure(place: Place, call: Call) -> StepFailed:
    assert call.outcome is not None
    facts = call.value if isinstance(call.value, dict) else {}
    return StepFailed(str(place), error_type=str(facts.get("type", "")), text=str(facts.get("text", "")), outcome=call.outcome)


def _named_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], entry: Entry | None) -> dict[str, Any]:
    """The arguments by name. A call that cannot be made raises TypeError here, before anything is written."""
    key = {entry.key: _NO_KEY} if isinstance(entry, Idempotent) else {}
    if key.keys() & kwargs.keys():
        raise TypeError(f"{name_of(function)}: {', '.join(key)} is handed in by the journal")
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have none
        return {"args": list(args), **kwargs}
    bound = signature.bind(*args, **kwargs, **key).arguments
    return {name: value for name, value in bound.items() if name not in key}


def check_recordable(values: dict[str, Any], where: str) -> None:
    for name, value in values.items():
        found = foreign_part(value, name)
        if found is not None:
            raise NotRecordable(f"{where}: {found[0]}", found=found[1])
