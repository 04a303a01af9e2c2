"""Finds the tool call in a model's answer: one JSON object and nothing beside it."""

from __future__ import annotations

import json
from typing import Any

from helpers.modules import load_classes_from_file, load_classes_from_folder

__all__ = [
    "extract_tool_request",
    "is_misformatted_tool_request",
    "json_parse_dirty",
    "load_classes_from_file",
    "load_classes_from_folder",
    "normalize_tool_request",
]


def json_parse_dirty(json_text: str) -> dict[str, Any] | None:
    """The first JSON object in a text."""
    start = json_text.find("{") if isinstance(json_text, str) else -1
    if start < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(json_text, start)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def extract_tool_request(content: str) -> dict[str, Any] | None:
    if not isinstance(content, str):
        return None
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) and _is_request(found) else None


def is_misformatted_tool_request(content: str) -> bool:
    """A fenced call is a call that the model wrote wrongly, not prose."""
    if not isinstance(content, str) or "```" not in content:
        return False
    found = json_parse_dirty(content)
    return found is not None and _is_request(found)


def normalize_tool_request(tool_request: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(tool_request, dict):
        raise ValueError("A tool call is a JSON object.")
    name = tool_request.get("tool_name") or tool_request.get("tool")
    if not isinstance(name, str) or not name:
        raise ValueError("A tool call names its tool in tool_name.")
    args = tool_request.get("tool_args", tool_request.get("args"))
    if not isinstance(args, dict):
        raise ValueError("A tool call has its arguments in the object tool_args.")
    name, _, action = name.partition(":")
    return name, {"action": action, **args} if action else dict(args)


def _is_request(found: dict[str, Any]) -> bool:
    try:
        normalize_tool_request(found)
    except ValueError:
        return False
    return True
