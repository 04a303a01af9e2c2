"""What a person can do where the plugin did not start: one next step for each code, in words.

Fixed sentences only; facts of a fault never come in here.
"""

from __future__ import annotations

from collections.abc import Mapping

FOLDER = "usr/plugin_data/durable_execution"
_AGAIN = "It is looked at again once a minute."
_KEEP = f"Keep a copy of {FOLDER}, then put a backup of it back, or move it away to begin a new journal: unfinished runs end with it."

NEXT: Mapping[str, str] = {
    "store_locked": f"Stop the other program that uses it. {_AGAIN}",
    "store_full": f"Make room on the disk. {_AGAIN}",
    "store_lost": f"Look at {FOLDER}: it must be a folder that Agent Zero can read and write. {_AGAIN}",
    "store_closed": _AGAIN,
    "commit_timeout": _AGAIN,
    "taken_back": _AGAIN,
    "journal_foreign": f"Look at what lies in {FOLDER}. {_KEEP}",
    "journal_newer": "Update this plugin to the version that was used last, then restart Agent Zero.",
    "journal_damaged": _KEEP,
    "record_corrupt": _KEEP,
    "checkpoint_corrupt": _KEEP,
    "adapter_mismatch": "Update the plugin, or switch off the other plugin that changes this function, then restart Agent Zero.",
    "internal": "Switch it off and on to try again, and report what the server's output says.",
}


def with_next(code: str, text: str) -> str:
    """The reason and the next step. A code without one says itself what to do."""
    step = NEXT.get(code, "")
    return f"{text} {step}" if step else text
