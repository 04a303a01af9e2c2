"""Typed documents with revisions: a write names the revision it began with, and a stale one is kept beside it.

Nobody's version is ever lost: what was stored stays, and what came too late waits as a conflict until a person
settles it. Nothing here starts or repeats anything, and nothing here knows what stands in a document.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from . import calls, codec
from .calls import Result
from .codec import Body
from .errors import ConflictSettled, DocumentConflict, RecordCorrupt, UnknownConflict
from .ids import CallId, ChatId, RunId, named
from .kinds import KINDS
from .records import Call
from .scribe import Scribe
from .store.base import Keep, Reader, Row

KEEP_REVISIONS = 20
"""So many revisions of a document stay, and older ones only as long as an open conflict is about them."""
KEEP_SETTLED = 20
MOST_CONFLICTS = 20
"""So many conflicts of a document are shown at once, the oldest first; as one is settled the next comes."""


class Writer(Enum):
    AGENT = "agent"
    PERSON = "person"


class Way(Enum):
    """How a person settles a conflict."""

    KEEP_STORED = "keep_stored"
    USE_MINE = "use_mine"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Document:
    """One revision. Revision 0 is what stands where nothing was saved."""

    document_id: str
    chat_id: ChatId
    kind: str
    revision: int
    value: dict[str, Any]
    written_by: Writer | None
    at: int


@dataclass(frozen=True, slots=True)
class Version:
    """What was written too late: from revision `base`, when `stored` was there already. It is not part of the document."""

    conflict_id: str
    document_id: str
    base: int
    stored: int
    value: dict[str, Any]
    written_by: Writer
    is_open: bool
    at: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole new value, masked, checked and encoded in the caller's thread."""

    chat_id: ChatId
    kind: str
    expected: int
    body: Body
    writer: Writer

    @property
    def document_id(self) -> str:
        return id_of(self.chat_id, self.kind)


@dataclass(frozen=True, slots=True)
class Saved:
    """Where a document stands after a write. With a conflict the write is kept beside it."""

    document_id: str
    revision: int
    conflict_id: str | None = None


@dataclass(frozen=True, slots=True)
class Ends:
    """The results of a call that carries a write, one of which becomes the call's."""

    saved: Result
    stale: Result
    late: Result
    """The run has ended or is continued elsewhere: nothing was written."""


def id_of(chat_id: str, kind: str) -> str:
    """A chat has one document of each kind, so these two name it."""
    return named("document", chat_id, kind)


# -- reading ------------------------------------------------------------------------------------


def current(tx: Reader, chat_id: ChatId, kind: str) -> Document:
    """The newest revision, or the empty value as revision 0."""
    found = newest(tx, id_of(chat_id, kind))
    return found or Document(id_of(chat_id, kind), chat_id, kind, 0, dict(KINDS[kind].empty), None, 0)


def newest(tx: Reader, document_id: str) -> Document | None:
    head = tx.one("document_head", document_id=document_id)
    return None if head is None else revision(tx, document_id, head["revision"])


def revision(tx: Reader, document_id: str, number: int) -> Document | None:
    row = tx.one("document", document_id=document_id, revision=number)
    return None if row is None else from_row(row)


def from_row(row: Row) -> Document:
    names = (row["document_id"], row["chat_id"], row["kind"], row["revision"])
    return Document(*names, _value(row), Writer(row["written_by"]), row["at"])


def open_versions(tx: Reader, document_id: str) -> list[Version]:
    return [_version(row) for row in tx.all("open_conflicts", document_id=document_id, most=MOST_CONFLICTS)]


def version(tx: Reader, conflict_id: str) -> Version:
    row = tx.one("conflict", conflict_id=conflict_id)
    if row is None:
        raise UnknownConflict(conflict_id)
    return _version(row)


def about(tx: Reader, conflict_id: str) -> tuple[ChatId, str]:
    """Chat and kind of the document that a conflict is about."""
    found = tx.one("conflict", conflict_id=conflict_id)
    head = None if found is None else tx.one("document_head", document_id=found["document_id"])
    if head is None:
        raise UnknownConflict(conflict_id)
    return head["chat_id"], head["kind"]


def waiting(tx: Reader, document_id: str) -> int:
    """How many conflicts of a document wait for a person."""
    row = tx.one("count_open_conflicts", document_id=document_id)
    return 0 if row is None else int(row["waiting"])


def marks(tx: Reader, chat_id: ChatId | None) -> dict[ChatId, dict[str, dict[str, int]]]:
    """By chat and kind: the newest revision, and how many conflicts wait. Of every chat, or of one."""
    found: dict[ChatId, dict[str, dict[str, int]]] = {}
    for row in tx.all("document_marks", chat_id=chat_id):
        found.setdefault(row["chat_id"], {})[row["kind"]] = {"revision": row["revision"], "conflicts": row["conflicts"]}
    return found


def _version(row: Row) -> Version:
    is_open = row["state"] == "open"
    names = (row["conflict_id"], row["document_id"], row["base"], row["stored"])
    return Version(*names, _value(row), Writer(row["written_by"]), is_open, row["at"])


def _value(row: Row) -> dict[str, Any]:
    value = codec.verified(row["body_digest"], row["body"], "A document")
    if not isinstance(value, dict):
        raise RecordCorrupt("A document has the wrong shape.")
    return value


# -- writing ------------------------------------------------------------------------------------


def write(scribe: Scribe, draft: Draft, run_id: RunId | None = None) -> Saved:
    """The next revision, if the draft began with the newest; else the draft is kept as a conflict, and nothing changes.

    The very same write again (its answer was lost) is the one that was made. Where nothing is stored there is nothing
    to overwrite.
    """
    head = scribe.tx.one("document_head", document_id=draft.document_id)
    if head is None or head["revision"] == draft.expected:
        return _add(scribe, draft, draft.expected + 1, run_id)
    if _is_same(head, draft):
        return Saved(draft.document_id, head["revision"])
    return Saved(draft.document_id, head["revision"], _keep_beside(scribe, draft, head["revision"], run_id))


def save(scribe: Scribe, draft: Draft) -> Saved | Keep:
    """Write for somebody who wants to hear of a conflict as an error; the conflict is recorded all the same."""
    saved = write(scribe, draft)
    if saved.conflict_id is None:
        return saved
    return Keep(DocumentConflict(saved.document_id, expected=draft.expected, stored=saved.revision, conflict_id=saved.conflict_id))


def finish_call(scribe: Scribe, call_id: CallId, draft: Draft, ends: Ends) -> Call | Keep:
    """Write, and give the call that carries the write its result, in one transaction: a call that has its result is
    never begun again, and one that has none has written nothing.
    """
    call = calls.load_call(scribe.tx, call_id)
    if call.result_digest in (ends.saved.digest, ends.stale.digest):
        return call
    if call.result_digest is not None or calls.is_late(scribe, call):
        return calls.finish(scribe, call_id, ends.late)
    saved = write(scribe, draft, call.run_id)
    return calls.finish(scribe, call_id, ends.saved if saved.conflict_id is None else ends.stale)


def settle(scribe: Scribe, conflict_id: str, way: Way, expected: int, merged: Draft | None) -> Saved:
    """A person says what the document is. Refused when it changed since it was shown; the conflict then stays open."""
    found = version(scribe.tx, conflict_id)
    if not found.is_open:
        raise ConflictSettled(conflict_id, found.document_id)
    head = scribe.tx.one("document_head", document_id=found.document_id)
    assert head is not None
    if head["revision"] != expected:
        raise DocumentConflict(found.document_id, expected=expected, stored=head["revision"])
    saved = Saved(found.document_id, expected)
    if way is not Way.KEEP_STORED:
        draft = merged or Draft(head["chat_id"], head["kind"], expected, codec.body(found.value), Writer.PERSON)
        saved = _add(scribe, draft, expected + 1, None)
    scribe.tx.change("settle_conflict", conflict_id=conflict_id)
    scribe.event("conflict_settled", None, conflict=conflict_id, way=way.value, revision=saved.revision)
    scribe.tx.change("drop_settled_conflicts", document_id=found.document_id, keep=KEEP_SETTLED)
    return saved


def _add(scribe: Scribe, draft: Draft, number: int, run_id: RunId | None) -> Saved:
    scribe.tx.change("add_chat", chat_id=draft.chat_id, now=scribe.now)
    seq = scribe.event("document_saved", run_id, document=draft.document_id, revision=number)
    scribe.tx.change(
        "add_revision",
        document_id=draft.document_id,
        revision=number,
        chat_id=draft.chat_id,
        kind=draft.kind,
        body_digest=scribe.store(draft.body),
        written_by=draft.writer.value,
        seq=seq,
        now=scribe.now,
    )
    scribe.tx.change("drop_old_revisions", document_id=draft.document_id, revision=number, keep=KEEP_REVISIONS)
    return Saved(draft.document_id, number)


def _is_same(head: Row, draft: Draft) -> bool:
    stored = (head["revision"], head["body_digest"], head["written_by"])
    return stored == (draft.expected + 1, draft.body.digest, draft.writer.value)


def _keep_beside(scribe: Scribe, draft: Draft, stored: int, run_id: RunId | None) -> str:
    facts = {"document_id": draft.document_id, "base": draft.expected, "written_by": draft.writer.value}
    known = scribe.tx.one("same_conflict", **facts, body_digest=draft.body.digest)
    if known is not None:
        return str(known["conflict_id"])
    conflict_id = scribe.ids.new("conf")
    seq = scribe.event("document_conflict", run_id, document=draft.document_id, conflict=conflict_id)
    body = scribe.store(draft.body)
    scribe.tx.change("add_conflict", **facts, conflict_id=conflict_id, stored=stored, body_digest=body, seq=seq, now=scribe.now)
    return conflict_id
