"""What comes in, masked and encoded in the caller's thread, before it is digested or handed to the store (I8).

What happened must be kept: a result is never refused, whatever it is; something true about it is written instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import codec
from .calls import Evidence, Result
from .codec import Body, Opaque
from .documents import Draft, Writer
from .errors import DoesNotFit, UnknownDocument
from .evidence import FROM_CHECK, Finding
from .ids import ChatId
from .kinds import KINDS
from .masking import Masker
from .records import Hold, Outcome

MOST_RESULT = 512 * 1024 * 1024


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

    def hold(self, hold: Hold) -> Hold:
        return replace(hold, text=self.masker.text(hold.text), facts=self.masked(hold.facts))

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
            error=self.masker.text(error),
            usage=self._beside(usage).data if usage else None,
            extra=self._beside(extra) if extra else None,
        )

    def evidence(self, finding: Finding | None) -> Evidence | None:
        if finding is None:
            return None
        result = self.result(Outcome.OK, finding.value, "", None, {FROM_CHECK: True})
        return Evidence(finding.found, result, self.masker.text(finding.seen))

    def draft(self, chat_id: ChatId, kind: str, expected: int, value: Any, writer: Writer) -> Draft:
        """Masked first, then checked: what is stored has the shape, and what is said of it quotes no secret."""
        if kind not in KINDS:
            raise UnknownDocument(kind)
        body = codec.body(KINDS[kind].check(self.masked(value)))
        if len(body.data) > KINDS[kind].most_bytes:
            allowed = f"At most {KINDS[kind].most_bytes} bytes ({KINDS[kind].most_bytes // 1024} KiB) are allowed."
            raise DoesNotFit("value", f"It has {len(body.data)} bytes.", allowed)
        return Draft(chat_id, kind, expected, body, writer)

    def _beside(self, facts: dict[str, Any]) -> Body:
        """What is kept beside a result must never be the reason that the result is lost, or cannot be read."""
        try:
            return self.facts(facts)
        except Exception as problem:
            return codec.body({"not_kept": self._description(facts, type(problem).__name__)})

    def _description(self, value: Any, problem: str) -> Opaque:
        seen = codec.opaque(value)
        return Opaque(seen.type_name, self.masker.text(f"{seen.text} ({problem} while saving it)"))
