"""What comes in, masked and encoded in the caller's thread, before it is digested or handed to the store (I8).

What happened must be kept: a result is never refused, whatever it is; something true about it is written instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import codec, values
from .background import Purpose
from .calls import Evidence, Intent, Result
from .codec import Body
from .documents import Draft, Writer
from .errors import DoesNotFit, TooLarge, UnknownDocument
from .evidence import FROM_CHECK, Finding
from .ids import ChatId, Digest
from .kinds import KINDS
from .masking import Masker
from .records import CallKey, Decision, Hold, Outcome, Permission, Selection
from .values import Opaque

MOST_RESULT = 512 * 1024 * 1024
MOST_NOTE = 2000
MOST_SAID = 64 * 1024
_MOST_TITLE = 500

SAID = "A person confirmed that this step was completed. Its own output was not saved."


class Intake:
    """Turns values of the caller into what may be stored."""

    def __init__(self, masker: Masker) -> None:
        self.masker = masker

    def masked(self, value: Any) -> Any:
        return self.masker.mask(value, names=False).value

    def facts(self, facts: dict[str, Any]) -> Body:
        masked = self.masked(facts)
        if not isinstance(masked, dict):  # a subclass that cannot be read: it would be refused when it is read back
            raise TypeError(f"Facts must be a plain dict, not {type(facts).__name__}.")
        return codec.body(masked)

    def text(self, text: str) -> str:
        """A text as its column keeps it: what is answered now is what is read later."""
        return codec.spelled_out(self.masker.text(text))

    def hold(self, hold: Hold) -> Hold:
        return replace(hold, text=self.text(hold.text), facts=self.masked(hold.facts))

    def result(self, outcome: Outcome, value: Any, error: str, usage: dict[str, Any] | None, extra: dict[str, Any] | None) -> Result:
        try:
            masked = self.masker.mask(value, names=False)
            body = codec.body(masked.value)
            lossy = masked.lossy
        except Exception as problem:
            # The effect has happened: its result must be kept, if only as what it looked like.
            body, lossy = codec.body(self._description(value, type(problem).__name__)), True
        if len(body.data) > MOST_RESULT:
            body, lossy = codec.body(Opaque("too_large", f"A result of {len(body.data)} bytes was not kept.")), True
        return Result(
            outcome=outcome,
            value=body,
            lossy=lossy,
            error=self.text(error),
            usage=self._beside(usage).data if usage else None,
            extra=self._beside(extra) if extra else None,
        )

    def intent(
        self, key: CallKey, name: str, identity_of: Any, arguments: Any, permission: Permission, extra: dict[str, Any] | None
    ) -> Intent:
        masked = self.masker.mask(arguments)
        return Intent(
            key=key,
            name=name,
            identity=self._identity(identity_of),
            arguments=codec.body(masked.value),
            lossy=masked.lossy,
            permission=permission,
            extra=self.facts(extra) if extra else None,
        )

    def background(self, purpose: Purpose, question: Any, name: str, facts: dict[str, Any], ordinal: int) -> Intent:
        """What is asked beside the turn; the question is digested and not kept."""
        about = self._identity(question)
        return Intent(
            key=purpose.key(about, ordinal),
            name=name,
            identity=about,
            arguments=self.facts({**facts, "purpose": purpose.name}),
            lossy=False,
            permission=Permission(),
        )

    def evidence(self, finding: Finding | None) -> Evidence | None:
        if finding is None:
            return None
        result = self.result(Outcome.OK, finding.value, "", None, {FROM_CHECK: True})
        return Evidence(finding.found, result, self.text(finding.seen))

    def draft(self, chat_id: ChatId, kind: str, expected: int, value: Any, writer: Writer) -> Draft:
        """Masked first, then checked: what is stored has the shape, and what is said of it quotes no secret."""
        if kind not in KINDS:
            raise UnknownDocument(kind)
        body = codec.body(KINDS[kind].check(self.masked(value)))
        if len(body.data) > KINDS[kind].most_bytes:
            allowed = f"At most {KINDS[kind].most_bytes} bytes ({KINDS[kind].most_bytes // 1024} KiB) are allowed."
            raise DoesNotFit("value", f"It has {len(body.data)} bytes.", allowed)
        return Draft(chat_id, kind, expected, body, writer)

    def title(self, title: str) -> str:
        return self.text(title)[:_MOST_TITLE]

    def decision(self, decision: Decision) -> tuple[Decision, Body]:
        """A decision, and what stands as the result of a step that the person says was completed. Raises TooLarge."""
        _check_size("note", decision.note, MOST_NOTE)
        _check_size("result_text", decision.result_text or "", MOST_SAID)
        masked = replace(
            decision,
            note=self.text(decision.note),
            result_text=self.masker.text(decision.result_text or ""),
            origin=self.text(decision.origin),
        )
        note = f" Their note: {masked.note}" if masked.note.strip() else ""
        return masked, codec.body(masked.result_text or f"{SAID}{note}")

    def selection(self, chosen: Selection) -> Selection:
        """Raises TooLarge."""
        _check_size("note", chosen.note, MOST_NOTE)
        return replace(chosen, note=self.text(chosen.note), origin=self.text(chosen.origin))

    def _identity(self, of: Any) -> Digest:
        """By what a call is known again: one mark for a secret, however it is spelled."""
        return codec.digest(codec.encode(self.masker.uniform(of)))

    def _beside(self, facts: dict[str, Any]) -> Body:
        """What is kept beside a result must never be the reason that the result is lost, or cannot be read."""
        try:
            return self.facts(facts)
        except Exception as problem:
            return codec.body({"not_kept": self._description(facts, type(problem).__name__)})

    def _description(self, value: Any, problem: str) -> Opaque:
        seen = values.opaque(value)
        return Opaque(seen.type_name, self.masker.text(f"{seen.text} ({problem} while saving it)"))


def _check_size(field: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise TooLarge(field, size=len(text), limit=limit)
