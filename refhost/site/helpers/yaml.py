"""Reads the flat YAML of plugin manifests and default settings: `key: value`, nested maps, lists. Nothing more."""

from __future__ import annotations

import json
from typing import Any

_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def loads(text: str) -> dict[str, Any]:
    lines = [line for line in (raw.split(" #")[0].rstrip() for raw in text.splitlines()) if line.strip()]
    return _block([line for line in lines if not line.lstrip().startswith("#")]) or {}


def _block(lines: list[str]) -> Any:
    if not lines:
        return None
    if lines[0].lstrip().startswith("- "):
        return [_scalar(line.lstrip()[2:]) for line in lines]
    depth = len(lines[0]) - len(lines[0].lstrip())
    found: dict[str, Any] = {}
    key, inner = "", []  # type: str, list[str]
    for line in [*lines, " " * depth + ":"]:
        if len(line) - len(line.lstrip()) > depth or line.lstrip().startswith("- "):
            inner.append(line)
            continue
        if inner:
            found[key] = _block(inner)
        key, _, value = line.strip().partition(":")
        inner = []
        if key:
            found[key] = _scalar(value)
    return found


def _scalar(text: str) -> Any:
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text[0] == "[":
        return [_scalar(part) for part in text[1:-1].split(",") if part.strip()]
    try:
        return json.loads(text)
    except ValueError:
        return text
