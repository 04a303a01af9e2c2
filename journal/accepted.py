"""Compares a folder with lists of accepted files: which list it matches, or which files keep it from the nearest one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .digests import of_file


@dataclass(frozen=True, slots=True)
class Match:
    """`changed` is empty where every file of the list is there, byte for byte."""

    label: str
    changed: tuple[str, ...]
    entry: Mapping[str, Any]


def closest(root: Path, accepted: Iterable[Mapping[str, Any]]) -> Match:
    """The first list that matches whole, else the one with the fewest differing files. Each has `label` and `files`."""
    best = Match("", ("no list of accepted files",), {})
    for number, entry in enumerate(accepted):
        changed = tuple(name for name, pin in entry["files"].items() if digest(root / name) != pin)
        if number == 0 or len(changed) < len(best.changed):
            best = Match(entry["label"], changed, entry)
        if not changed:
            break
    return best


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes in hex; empty where it cannot be read."""
    try:
        return of_file(path)
    except OSError:
        return ""
