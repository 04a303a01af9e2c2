"""Says that the page should look again. This host's page polls, so a count of changes is all that is kept."""

from __future__ import annotations

changes = 0


def mark_dirty_all(*, reason: str | None = None) -> None:
    global changes
    changes += 1


def mark_dirty_for_context(context_id: str, *, reason: str | None = None) -> None:
    mark_dirty_all(reason=reason)
