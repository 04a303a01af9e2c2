"""The welcome screen: what waits for a person, or why new work is not recorded.

The host writes a banner's text as HTML: only our own sentences go in, and names of
files and chats are escaped.
"""

from __future__ import annotations

import html
from typing import Any

from . import anchor, guard

PANEL = "open-modal:/plugins/durable_execution/webui/main.html"
_UNREADABLE = "Chats with an unfinished run are not protected now: their record could not be read."


def show(data: dict[str, Any]) -> None:
    """Append at most one banner to what the host collects."""
    status = anchor.status()
    if not status["active"]:
        if status["why_not"]["code"] != "off":
            data["banners"].append(_not_active(status["why_not"]))
    elif status["holds"]:
        data["banners"].append(_waiting(int(status["holds"])))


def _not_active(why: dict[str, Any]) -> dict[str, Any]:
    guard.unfinished()  # looks whether the journal can be read at all
    unreadable = anchor.holder().unreadable
    files = "".join(f"<br>{html.escape(name)}" for name in why["files"])
    text = f"{html.escape(why['text'])}{files}<br>New work is not recorded."
    if unreadable:
        text = f"{text} {_UNREADABLE}"
    kind = "error" if unreadable else "warning"
    return _banner("not-active", kind, "Durable Execution is not active", text)


def _waiting(count: int) -> dict[str, Any]:
    runs = "1 run needs" if count == 1 else f"{count} runs need"
    link = f'<a href="#" data-banner-action="{PANEL}">Open Recovery</a>'
    return _banner("holds", "warning", f"{runs} your decision", f"Finished steps are saved and will not run again. {link}")


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
