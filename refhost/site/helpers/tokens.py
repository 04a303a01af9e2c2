"""A rough count of tokens, the same on every machine."""

from __future__ import annotations


def approximate_tokens(text: str) -> int:
    return len(text) // 4 + 1
