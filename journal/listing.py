"""The lists of the panel, a page at a time: what waits for a person, and every run, with a search among all of them.

Reads only, decides nothing. What a run contains is masked again, before it is cut (I8).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import codec, grants, views
from .errors import RecordCorrupt
from .masking import Masker
from .records import CallKind
from .store.base import Reader, Row
from .texts import summary

PAGE = 50


def counts(tx: Reader, boot_id: str) -> dict[str, int]:
    row = tx.one("count_runs")
    resumed = tx.one("count_resumed", boot_id=boot_id, by_policy=grants.POLICY)
    documents = tx.one("count_documents")
    assert row is not None
    assert documents is not None
    assert resumed is not None
    return {
        "needs_you": row["held"],
        "held": row["held"],
        "all": row["everything"],
        "unfinished": row["unfinished"],
        "resumed": resumed["resumed"],
        "in_conflict": documents["in_conflict"],
    }


@dataclass(frozen=True, slots=True)
class Search:
    """Words to look for among all runs, and the chats whose present name has them: a journal knows only the first name."""

    words: str = ""
    chats: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        escaped = self.words.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"%{escaped}%"


NO_SEARCH = Search()


def page(tx: Reader, tab: str, cursor: str | None, search: Search = NO_SEARCH, *, masker: Masker, boot_id: str, now: int) -> dict[str, Any]:
    """One page: what waits for a person, oldest first, or everything (that has these words), newest first."""
    if tab == "needs_you":
        since, _, run_id = (cursor or "").partition(":")
        start = int(since) if since.isdecimal() and len(since) < 18 else -1
        rows = tx.all("list_held", since=start, run_id=run_id, most=PAGE + 1)
    elif search.words.strip():
        chats = json.dumps(search.chats)
        rows = tx.all("search_runs", run_id=cursor or "", words=search.pattern, chats=chats, most=PAGE + 1)
    else:
        rows = tx.all("list_all", run_id=cursor or "", most=PAGE + 1)
    shown, more = rows[:PAGE], len(rows) > PAGE
    after = None
    if more:
        last = shown[-1]
        after = f"{last['hold_since']}:{last['run_id']}" if tab == "needs_you" else last["run_id"]
    items = [_item(tx, row, masker) for row in shown]
    return {"counts": counts(tx, boot_id), "items": items, "checked_at": now, "next": after}


def _item(tx: Reader, row: Row, masker: Masker) -> dict[str, Any]:
    reason = row["hold_reason"]
    return {
        "run_id": row["run_id"],
        "version": row["version"],
        "state": row["state"],
        **views.place(tx, row["run_id"], row["chat_id"], row["title"], row["parent_call_id"], masker),
        "since": row["hold_since"] or row["changed_at"],
        "step": _step(tx.one("step_of_run", run_id=row["run_id"], call_id=row["hold_call_id"]), masker),
        "reason": views.reason(reason, masker.text(row["hold_text"]), views.facts(row["hold_facts"])) if reason else None,
    }


def _step(row: Row | None, masker: Masker) -> dict[str, Any] | None:
    if row is None:
        return None
    try:
        arguments = masker.mask(codec.verified(row["arguments_digest"], row["arguments_body"], "The arguments of a call")).value
    except RecordCorrupt:
        arguments = None
    return {
        "call_id": row["call_id"],
        "n": row["number"],
        "of": row["total"],
        "kind": row["kind"],
        "name": row["name"],
        "summary": summary(CallKind(row["kind"]), row["name"], arguments),
    }
