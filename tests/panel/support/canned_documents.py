"""The documents of the canned service: one calm plan, and one where two versions wait for a choice. Shapes as in docs/api.md."""

from __future__ import annotations

from typing import Any

NOW = 1_795_961_000_000
MINUTE = 60_000


def item(name: str, text: str, *, done: bool = False) -> dict[str, Any]:
    return {"id": name, "text": text, "done": done}


def document(name: str, title: str, items: list[dict[str, Any]], *, chat: str, revision: int, written_by: str) -> dict[str, Any]:
    stored = {
        "document_id": name,
        "chat_id": f"chat_{name}",
        "chat_title": chat,
        "chat_exists": True,
        "kind": "plan",
        "revision": revision,
        "value": {"title": title, "items": items},
        "written_by": written_by,
        "at": NOW - 10 * MINUTE,
    }
    return {"document": stored, "conflicts": [], "waiting": 0, "checked_at": NOW}


def calm() -> dict[str, Any]:
    items = [item("book", "Book the train", done=True), item("hotel", "Find a hotel near the station")]
    return document("doc_calm", "Plan the summer", items, chat="Summer", revision=3, written_by="you")


def disputed() -> dict[str, Any]:
    """From revision 4 a person checked and added; the agent stored 5 and 6 meanwhile."""
    notes, upload, tell = item("notes", "Write the release notes"), item("upload", "Upload the files"), item("tell", "Tell the team")
    check = item("check", "Check the links on the release page, each of them, in a private window")
    mine = [item("notes", "Write the release notes", done=True), upload, tell, check]
    stored = [notes, item("upload", "Upload the files to the mirror, too"), item("tag", "Tag the commit")]
    view = document("doc_conflict", "Publish release 1.4", stored, chat="Deploy notes for Friday", revision=6, written_by="agent")
    waiting = {
        "conflict_id": "conflict_1",
        "base": 4,
        "found": 6,
        "written_by": "you",
        "stored_by": "agent",
        "at": NOW - 9 * MINUTE,
        "value": {"title": "Publish release 1.4", "items": mine},
        "differs": 5,
        "merged": {"title": "Publish release 1.4", "items": [mine[0], stored[1], check, stored[2]]},
        "parts": [
            part("", item("", "Publish release 1.4"), item("", "Publish release 1.4")),
            part("notes", mine[0], notes, mine_did=("done", "✓")),
            part("upload", upload, stored[1], stored_did=("changed", "✎")),
            part("tell", tell, None, stored_did=("removed", "−")),
            part("check", check, None, mine_did=("added", "+")),
            part("tag", None, stored[2], stored_did=("added", "+")),
        ],
    }
    return {**view, "conflicts": [waiting], "waiting": 1}


def part(
    name: str,
    mine: dict[str, Any] | None,
    stored: dict[str, Any] | None,
    *,
    mine_did: tuple[str, str] | None = None,
    stored_did: tuple[str, str] | None = None,
) -> dict[str, Any]:
    said = [[{"word": did[0], "symbol": did[1]}] if did else [] for did in (mine_did, stored_did)]
    return {"id": name, "mine": mine, "stored": stored, "mine_did": said[0], "stored_did": said[1], "differs": mine != stored}


def listed(views: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer of documents_list over these, those in conflict first."""
    shown = sorted(views, key=lambda view: not view["waiting"])
    items = [
        {**{key: value for key, value in view["document"].items() if key != "value"}, "title": view["document"]["value"]["title"]}
        | {"conflicts": view["waiting"], "problem": ""}
        for view in shown
    ]
    counts = {
        "documents": len(views),
        "in_conflict": sum(view["waiting"] > 0 for view in views),
        "conflicts": sum(view["waiting"] for view in views),
    }
    return {"counts": counts, "items": items, "checked_at": NOW, "next": None}
