"""First step of the start, before the server and the chats exist."""

from __future__ import annotations

from pathlib import Path

from helpers import extension, files


def startup_migration() -> None:
    for folder in ("chats", "plugins", "scheduler"):
        Path(files.get_abs_path(files.USER_DIR, folder)).mkdir(parents=True, exist_ok=True)
    extension.call_extensions_sync("startup_migration", None)
