"""What a model call took: the provider's own figures where the host has them, else an estimate that says so."""

from __future__ import annotations

from typing import Any

_CHARACTERS_A_TOKEN = 4
_IN, _OUT = ("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")


def of_result(result: dict[str, Any], prompt_tokens: Any) -> dict[str, Any]:
    """Usage of a saved answer. A stream that is left at the end of a tool call brings no figures."""
    said = result.get("usage")
    if isinstance(said, dict) and any(_number(said, name) is not None for name in (*_IN, *_OUT)):
        figures = {"input_tokens": _first(said, _IN), "output_tokens": _first(said, _OUT), "estimated": False}
        cost = _number(said, "cost")
        return figures if cost is None else {**figures, "cost": cost}
    answer = f"{result.get('response') or ''}{result.get('reasoning') or ''}"
    known = prompt_tokens if isinstance(prompt_tokens, int) else 0
    return {"input_tokens": known, "output_tokens": len(answer) // _CHARACTERS_A_TOKEN, "estimated": True}


def estimated(asked_characters: int, answer: str) -> dict[str, Any]:
    """Usage of a call about which the host keeps nothing."""
    tokens = {"input_tokens": asked_characters // _CHARACTERS_A_TOKEN, "output_tokens": len(answer) // _CHARACTERS_A_TOKEN}
    return {**tokens, "estimated": True}


def _first(said: dict[str, Any], names: tuple[str, ...]) -> int | float:
    return next((number for name in names if (number := _number(said, name)) is not None), 0)


def _number(said: dict[str, Any], name: str) -> int | float | None:
    value = said.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
