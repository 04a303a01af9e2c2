"""The base of the handlers in `api/`: service or 503, checked fields, one table of errors.

Whatever happens, the answer is JSON with a stable code. It is never 403 (the page would
send that request a second time), never a redirect, and never an exception or its text.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from flask import Response
from helpers.api import ApiHandler

from . import anchor

log = logging.getLogger("durable_execution.web")

# The journal's codes, and the two of this room. A purge may leave two copies of an error
# class in memory, so errors are known by their code, never by their class.
STATUS: Mapping[str, int] = {
    "malformed": 400,
    "unknown_run": 404,
    "unknown_call": 404,
    "unknown_backup": 404,
    "unknown_document": 404,
    "unknown_conflict": 404,
    "stale_version": 409,
    "shown_changed": 409,
    "run_ended": 409,
    "not_running": 409,
    "conflict": 409,
    "chat_busy": 409,
    "input_conflict": 409,
    "result_conflict": 409,
    "request_reused": 409,
    "key_reused": 409,
    "document_conflict": 409,
    "conflict_settled": 409,
    "not_allowed": 422,
    "note_missing": 422,
    "ack_missing": 422,
    "too_large": 422,
    "does_not_fit": 422,
    "unsafe_file_system": 503,
    "not_active": 503,
    "checkpoint_corrupt": 503,
    "record_corrupt": 503,
    "journal_foreign": 503,
    "journal_newer": 503,
    "journal_damaged": 503,
    "backup_damaged": 503,
    "store_locked": 503,
    "store_full": 503,
    "store_lost": 503,
    "store_closed": 503,
    "commit_timeout": 503,
    "taken_back": 503,
}

# Which part of the form a refusal is about, so that the page can put the focus there.
FIELD: Mapping[str, str] = {
    "note_missing": "note",
    "ack_missing": "ack",
    "not_allowed": "decision",
    "too_large": "note",
}

DECISIONS = (
    "confirmed_completed",
    "confirmed_not_completed",
    "new_attempt",
    "resume",
    "stop",
)

WAYS = ("keep_stored", "use_mine", "merged")

# What the page knows under a shorter name: to it there is one kind of conflict in a document's answer.
SPELLED: Mapping[str, str] = {"document_conflict": "conflict"}

UNSURE = "It is not known yet whether this was recorded."
MOST_BYTES = 512 * 1024


class Malformed(Exception):
    """The request is not in the form that docs/api.md describes. Nothing was changed."""

    code = "malformed"

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True, slots=True)
class Text:
    """A string of at most `most` characters; one that is not required may be left out or null."""

    name: str
    most: int
    required: bool = True
    default: str | None = None

    def read(self, value: Any) -> str | None:
        if value is None and not self.required:
            return self.default
        if not isinstance(value, str) or (self.required and not value.strip()):
            raise Malformed(self.name, f"{self.name} must be a text.")
        if len(value) > self.most:
            raise Malformed(self.name, f"{self.name} is longer than {self.most} characters.")
        return value


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words; the first of them where nothing is sent and `required` is off."""

    name: str
    words: tuple[str, ...]
    required: bool = True

    def read(self, value: Any) -> str:
        if value is None and not self.required:
            return self.words[0]
        if not isinstance(value, str) or value not in self.words:
            raise Malformed(self.name, f"{self.name} must be one of: {', '.join(self.words)}.")
        return value


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number between two bounds. True is no number here."""

    name: str
    least: int
    most: int

    def read(self, value: Any) -> int:
        if type(value) is not int or not self.least <= value <= self.most:
            raise Malformed(self.name, f"{self.name} must be a whole number from {self.least} to {self.most}.")
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false; false where nothing is sent."""

    name: str

    def read(self, value: Any) -> bool:
        if value is None:
            return False
        if not isinstance(value, bool):
            raise Malformed(self.name, f"{self.name} must be true or false.")
        return value


@dataclass(frozen=True, slots=True)
class Object:
    """A JSON object. What must stand in it is for the engine to say."""

    name: str
    required: bool = True

    def read(self, value: Any) -> dict[str, Any] | None:
        if value is None and not self.required:
            return None
        if not isinstance(value, dict):
            raise Malformed(self.name, f"{self.name} must be a JSON object.")
        return value


Field = Text | OneOf | Whole | Flag | Object
Answer = tuple[int, dict[str, Any]]


class Handler(ApiHandler, ABC):  # type: ignore[misc]  # the host's class has no types
    """One verb of the API. A subclass names its fields and forwards to the service."""

    fields: ClassVar[tuple[Field, ...]] = ()
    needs_service: ClassVar[bool] = True
    origin = "panel"

    @abstractmethod
    def answer(self, service: Any, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer. Runs in a worker thread; JournalErrors become statuses."""

    async def handle_request(self, request: Any) -> Response:
        """Refuse a body of which the host would read nothing and go on, or too much."""
        if problem := _unreadable(request):
            return _reply(400, {"code": "malformed", "text": problem})
        return await super().handle_request(request)  # type: ignore[no-any-return]

    async def process(self, input: dict[str, Any], request: Any) -> Response:
        """Answer one request. Only a cancellation can come out of here."""
        self.origin = f"panel {request.remote_addr or ''}".rstrip()
        try:
            status, answer = await asyncio.to_thread(self._work, input)
            return _reply(status, answer)
        except Exception as error:
            return _reply(500, _internal(error))

    def _work(self, input: Any) -> Answer:
        service = anchor.service()
        if service is None and self.needs_service:
            return 503, {"code": "not_active", "text": "Durable Execution is not active."}
        try:
            return 200, self.answer(service, self._read(input))
        except Exception as error:
            if (code := _known(error)) is None:
                raise
            return STATUS[code], self._refusal(service, input, code, error)

    def _read(self, input: Any) -> dict[str, Any]:
        if not isinstance(input, dict):
            raise Malformed("", "The body must be a JSON object.")
        return {field.name: field.read(input.get(field.name)) for field in self.fields}

    def _refusal(self, service: Any, input: Any, code: str, error: Exception) -> dict[str, Any]:
        text = getattr(error, "why", "") or str(error) or UNSURE
        answer: dict[str, Any] = {"code": SPELLED.get(code, code), "text": text}
        if field := getattr(error, "field", "") or FIELD.get(code, ""):
            answer["field"] = field
        if document_id := getattr(error, "document_id", ""):
            answer |= {
                "stored": _now(lambda: service.document_read(document_id)["document"]),
                "conflict_id": getattr(error, "conflict_id", None),
            }
        elif STATUS[code] == 409:
            answer["run"] = _now(lambda: service.recovery_run(input.get("run_id"))["run"])
        return answer


def _unreadable(request: Any) -> str:
    """Why this body is not read, or nothing. For the host one in pieces, or one that is no JSON, is the same as none."""
    if "Transfer-Encoding" in request.headers:
        return "The request must say its length (Content-Length)."
    if (request.content_length or 0) > MOST_BYTES:
        return "The request is too large."
    try:
        is_read = not request.content_length or request.get_json(silent=True) is not None
    except RecursionError:
        is_read = False
    return "" if is_read else "The body must be a JSON object."


def _known(error: Exception) -> str | None:
    if isinstance(error, TimeoutError):
        return "commit_timeout"
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and code in STATUS else None


def _now(read: Callable[[], Any]) -> Any:
    """How it stands now, or None where even that cannot be read."""
    try:
        return read()
    except Exception as error:
        if _known(error) is None:
            raise
        return None


def _reply(status: int, answer: dict[str, Any]) -> Response:
    # NaN and Infinity are no JSON: a page could not read an answer that contains them.
    text = json.dumps(answer, allow_nan=False)
    reply = Response(text, status=status, mimetype="application/json")
    reply.headers["Cache-Control"] = "no-store"
    return reply


def _internal(error: Exception) -> dict[str, Any]:
    """Log where a fault happened and return its reference; the same fault has the same one.

    Only places are logged, not the error's own words: those may quote what a run contains.
    """
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    name = type(error).__name__
    ref = hashlib.sha256("\n".join([name, *places]).encode()).hexdigest()[:8]
    log.error("Request failed (reference %s): %s\n  %s", ref, name, "\n  ".join(places))
    text = "Something failed inside Durable Execution. Look at the run again before you go on."
    return {"code": "internal", "text": text, "ref": ref}
