"""The secrets that a terminal knows: the environment, and the files in which the server beside the journal keeps its own.

All of them are hidden for good (`[hidden:NAME]`): nobody at a terminal fills a secret in again.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import NotAllowed
from ..masking import Masker, Secret
from ..telling import is_secret, pairs


def masker(asked: argparse.Namespace) -> Masker:
    """Raises NotAllowed, before anything is shown or written, if a file of secrets cannot be read."""
    found = Masker(lambda: list(_secrets(asked)))
    found.refresh()
    return found


def _secrets(asked: argparse.Namespace) -> Iterator[Secret]:
    for path in [*_stores(asked.folder), *map(Path, asked.secrets or ())]:
        yield from (Secret(name, value) for name, value in pairs(_read(path)))
    loaded = [pair for path in _settings(asked.folder) for pair in pairs(_read(path))]
    yield from (Secret(name, value) for name, value in [*loaded, *os.environ.items()] if is_secret(name, value))


def _stores(folder: Path) -> list[Path]:
    """Files that hold nothing but secrets: of the server, and of its projects."""
    usr = _usr(folder)
    found = [usr / "secrets.env", *sorted((usr / "projects").glob("*/.a0proj/secrets.env"))] if usr else []
    return [path for path in found if path.exists()]


def _settings(folder: Path) -> list[Path]:
    """What the server loads into its environment; its names say what is a secret."""
    usr = _usr(folder)
    return [usr / ".env"] if usr and (usr / ".env").exists() else []


def _usr(folder: Path) -> Path | None:
    folder = folder.absolute()
    return folder.parent.parent if folder.parent.name == "plugin_data" else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise NotAllowed(f"The secrets in {path} cannot be read ({error.strerror}), and could not be hidden. Nothing was done.") from error
