"""Documents and their conflicts as the panel sees them: JSON-ready, masked, in plain words. Shapes are in docs/api.md.

Reads only. What is in conflict is shown part by part; how two versions differ is the kind's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import documents
from .documents import Document, Version, Writer
from .errors import RecordCorrupt, UnknownDocument
from .ids import ChatId
from .kinds import KINDS
from .kinds.base import Part
from .masking import Masker
from .store.base import Reader, Row
from .texts import shown

PAGE = 50

_NAMES: dict[Writer | None, str] = {Writer.AGENT: "agent", Writer.PERSON: "you", None: ""}
_SYMBOLS = {"added": "+", "removed": "−", "changed": "✎", "done": "✓", "not done": "○", "moved": "↕"}


def counts(tx: Reader) -> dict[str, int]:
    row = tx.one("count_documents")
    return dict(row) if row is not None else {}


def listing(tx: Reader, cursor: str | None, *, masker: Masker, now: int) -> dict[str, Any]:
    """One page: those in conflict first, then the last changed."""
    flag, _, seq = (cursor or "").partition(":")
    start = int(seq) if flag in ("0", "1") and seq.isdecimal() and len(seq) < 18 else 2**62
    rows = tx.all("list_documents", in_conflict=int(flag) if start < 2**62 else 1, seq=start, most=PAGE + 1)
    page, last = rows[:PAGE], rows[PAGE - 1] if len(rows) > PAGE else None
    after = None if last is None else f"{int(last['waiting'] > 0)}:{last['seq']}"
    return {"counts": counts(tx), "items": [_item(row, masker) for row in page], "checked_at": now, "next": after}


def _item(row: Row, masker: Masker) -> dict[str, Any]:
    title, problem = "", ""
    try:
        value = documents.from_row(row).value
        title = masker.text(KINDS[row["kind"]].title(value)) if row["kind"] in KINDS else ""
    except RecordCorrupt as error:
        problem = str(error)
    return {
        "document_id": row["document_id"],
        "chat_id": row["chat_id"],
        "chat_title": masker.text(row["chat_title"] or ""),
        "kind": row["kind"],
        "title": title,
        "revision": row["revision"],
        "written_by": _NAMES[Writer(row["written_by"])],
        "at": row["at"],
        "conflicts": row["waiting"],
        "problem": problem,
    }


def of_chat(tx: Reader, chat_id: ChatId, kind: str, *, masker: Masker, now: int) -> dict[str, Any]:
    if kind not in KINDS:
        raise UnknownDocument(kind)
    return _view(tx, documents.current(tx, chat_id, kind), masker, now)


def view(tx: Reader, document_id: str, *, masker: Masker, now: int) -> dict[str, Any]:
    found = documents.newest(tx, document_id)
    if found is None or found.kind not in KINDS:
        raise UnknownDocument(document_id)
    return _view(tx, found, masker, now)


def _view(tx: Reader, document: Document, masker: Masker, now: int) -> dict[str, Any]:
    versions = documents.open_versions(tx, document.document_id)
    return {
        "document": document_view(document, masker),
        "conflicts": [_conflict(tx, document, each, masker) for each in versions],
        "waiting": documents.waiting(tx, document.document_id),
        "checked_at": now,
    }


def document_view(document: Document, masker: Masker) -> dict[str, Any]:
    return {
        "document_id": document.document_id,
        "chat_id": document.chat_id,
        "kind": document.kind,
        "revision": document.revision,
        "value": _masked(document.value, masker),
        "written_by": _NAMES[document.written_by],
        "at": document.at or None,
    }


def _conflict(tx: Reader, stored: Document, version: Version, masker: Masker) -> dict[str, Any]:
    kind = KINDS[stored.kind]
    began = documents.revision(tx, stored.document_id, version.base) if version.base else None
    base = dict(kind.empty) if not version.base else began.value if began else None
    parts = kind.compare(base, version.value, stored.value)
    return {
        "conflict_id": version.conflict_id,
        "base": version.base,
        "found": version.stored,
        "written_by": _NAMES[version.written_by],
        "stored_by": _NAMES[stored.written_by],
        "at": version.at,
        "value": _masked(version.value, masker),
        "parts": [_part(part, masker) for part in parts],
        "differs": sum(part.differs for part in parts),
        "merged": _masked(kind.merge(base, version.value, stored.value), masker),
    }


def _part(part: Part, masker: Masker) -> dict[str, Any]:
    return {
        "id": masker.text(part.id),
        "mine": _masked(part.mine, masker),
        "stored": _masked(part.stored, masker),
        "mine_did": _words(part.mine_did),
        "stored_did": _words(part.stored_did),
        "differs": part.differs,
    }


def _words(words: Sequence[str]) -> list[dict[str, str]]:
    return [{"word": word, "symbol": _SYMBOLS.get(word, "")} for word in words]


def _masked(value: Any, masker: Masker) -> Any:
    return None if value is None else shown(masker.mask(value, names=False).value)
