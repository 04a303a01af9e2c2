"""A run that waits for a person, as a program can show it and answer: why, about which step, and what may be said.

Makes decisions out of what was shown; what is on offer, and whether a decision counts, is decided in decisions.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import grants
from .decisions import Offer
from .errors import NotAllowed, Refused
from .ids import CallId, named
from .places import step_id
from .records import Call, Choice, Decision, HoldReason, Run
from .service import Journal
from .views import REASONS

_GRANT = "grant"


@dataclass(frozen=True, slots=True)
class HeldRun:
    """What a person is shown; a decision made from it counts only if this is still true (I7)."""

    run: Run
    calls: tuple[Call, ...]
    offers: tuple[Offer, ...]

    @classmethod
    def read(cls, journal: Journal, run_id: str) -> HeldRun:
        run, calls, offers = journal.offers(run_id)
        return cls(run, tuple(calls), tuple(offers))

    @property
    def reason(self) -> HoldReason:
        return self.run.hold.reason if self.run.hold is not None and not self.run.damaged else HoldReason.CHECKPOINT_CORRUPT

    @property
    def steps(self) -> list[str]:
        """The steps that a decision is needed about."""
        asked = {offer.call_id for offer in self.offers if offer.call_id} | {call.call_id for call in self._cut_off()}
        return [step_id(call) for call in self.calls if call.call_id in asked]

    @property
    def choices(self) -> list[str]:
        """What may be said; `grant` is a word to the model call that was cut off."""
        words = [offer.choice.value for offer in self.offers if offer.allowed]
        return list(dict.fromkeys([_GRANT, *words] if self._cut_off() else words))

    def __str__(self) -> str:
        text = (self.run.hold.text if self.run.hold else "") or REASONS[self.reason]
        steps = [f"{step_id(call)} ({call.name})" for call in self.calls if step_id(call) in self.steps and not call.abandoned]
        about = f" It is about {', '.join(steps)}." if steps else ""
        return f"{self.run.chat_id}/{self.run.input_id}: {text}{about}{self._sides()} Look, then decide: {', '.join(self.choices)}."

    def _sides(self) -> str:
        """What differs, where the record and the loop do."""
        facts = self.run.hold.facts if self.run.hold is not None else {}
        if self.reason is not HoldReason.DIVERGED:
            return ""
        recorded, now = (" ".join(str(part) for part in facts.get(side, {}).values()) for side in ("recorded", "now"))
        return f" Recorded: {recorded}. Now: {now}."

    def decision(
        self, choice: Choice, *, origin: str, step: str = "", note: str = "", ack: bool = False, result_text: str | None = None
    ) -> Decision:
        """One decision about what is shown here. The same words about the same state are one decision, also when sent twice."""
        offer = self._offer(choice, step)
        words = (origin, note, result_text or "", str(ack))
        return Decision(
            run_id=self.run.run_id,
            version=self.run.version,
            call_id=offer.call_id,
            shown_digest=offer.digest,
            choice=choice,
            note=note,
            ack=ack,
            result_text=result_text,
            request_id=named(self.run.run_id, str(self.run.version), choice.value, offer.call_id or "", *words),
            origin=origin,
        )

    def cut_off(self, step: str = "") -> CallId:
        """The model call that may be granted more attempts."""
        return self._one(self._cut_off(), step, "No model call of this run was cut off.").call_id

    def _cut_off(self) -> list[Call]:
        return [call for call in self.calls if grants.grantable(self.run, call)]

    def _offer(self, choice: Choice, step: str) -> Offer:
        fitting = [offer for offer in self.offers if offer.choice is choice]
        by_call = {offer.call_id: offer for offer in fitting if offer.call_id}
        if not by_call:
            if not fitting:
                raise NotAllowed("This is not asked here.")
            return fitting[0]
        asked = [call for call in self.calls if call.call_id in by_call]
        return by_call[self._one(asked, step, "This is not asked here.").call_id]

    def _one(self, asked: Iterable[Call], step: str, nothing: str) -> Call:
        found = [call for call in asked if step in ("", step_id(call))]
        if not found:
            raise NotAllowed(nothing)
        if len(found) > 1:
            raise NotAllowed(f"Say which step: {', '.join(step_id(call) for call in found)}.")
        return found[0]


class RunHeld(Refused):
    """This run waits for a person. Nothing more was started."""

    code = "run_held"

    def __init__(self, held: HeldRun) -> None:
        super().__init__(str(held))
        self.held, self.run = held, held.run
