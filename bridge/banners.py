"""The welcome screen: what waits for a person, or why new work is not recorded.

The host writes a banner's text as HTML: only our own sentences go in, and names of
files and chats are escaped.
"""

from __future__ import annotations

import html
from typing import Any

from . import anchor, guard, notify

PANEL = "open-modal:/plugins/durable_execution/webui/main.html"
_MOST_NAMES = 8
_WHOSE = {
    "plugin": "Of this plugin",
    "host": "Of Agent Zero, reviewed for this plugin",
    "journal": "Written to by another program, so its records may not be what was recorded",
}
_CHANGED_NEXT = (
    "If this was an update, restart Agent Zero. If nobody updated anything, find out who changed them, an agent included, "
    "and put the files back: Agent Zero goes on with the code that it loaded, and a restart compares again."
)
_UNREADABLE = "Chats with an unfinished run are not protected now: their record could not be read."


def show(data: dict[str, Any]) -> None:
    """Append to what the host collects: about the runs, about what changed, and once about the place."""
    status = anchor.status()
    if not status["active"]:
        if status["why_not"]["code"] != "off":
            data["banners"].append(_not_active(status["why_not"]))
        return
    if any(status["changed"].values()):
        data["banners"].append(_changed(status["changed"]))
    if status["masking_problem"]:
        data["banners"].append(_unmasked(status["masking_problem"]))
    if status["holds"]:
        data["banners"].append(_waiting(int(status["holds"]), status["restored"]))
    if status["notes"]:
        data["banners"].append(_place(status["notes"]))


def _not_active(why: dict[str, Any]) -> dict[str, Any]:
    guard.unfinished()  # looks whether the journal can be read at all
    unreadable = anchor.holder().unreadable
    files = "".join(f"<br>{html.escape(name)}" for name in why["files"])
    text = f"{html.escape(why['text'])}{files}<br>New work is not recorded."
    if unreadable:
        text = f"{text} {_UNREADABLE}"
    kind = "error" if unreadable else "warning"
    return _banner("not-active", kind, "Durable Execution is not active", text)


def _changed(changed: dict[str, list[str]]) -> dict[str, Any]:
    """Files that are not what they were when the plugin was switched on."""
    parts = [f"{_WHOSE[where]}: {_listed(names)}." for where, names in changed.items() if names]
    return _banner("changed", "warning", "Files changed while Agent Zero runs", f"{' '.join(parts)}<br>{_CHANGED_NEXT}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(html.escape(name) for name in names[:_MOST_NAMES]) + more


def _waiting(count: int, restored: str | None) -> dict[str, Any]:
    runs = "1 run needs" if count == 1 else f"{count} runs need"
    link = f'<a href="#" data-banner-action="{PANEL}">Open Recovery</a>'
    text = html.escape(restored) if restored else "Finished steps are saved and will not run again."
    return _banner("holds", "warning", f"{runs} your decision", f"{text} {link}")


def _unmasked(problem: str) -> dict[str, Any]:
    text = f"{html.escape(problem)} Those known before are still hidden; a new one may be written into the journal as it is."
    return _banner("masking", "warning", "New secrets are not hidden", text)


def _place(notes: list[str]) -> dict[str, Any]:
    """The host remembers that it was read and put away."""
    text = "<br>".join(html.escape(note) for note in notes)
    return _banner("place", "info", notify.TITLE, text) | {"dismissible": True, "priority": 20}


def _banner(name: str, kind: str, title: str, text: str) -> dict[str, Any]:
    return {
        "id": f"durable_execution-{name}",
        "type": kind,
        "priority": 95,
        "title": title,
        "html": text,
        "dismissible": False,
        "source": "backend",
    }
