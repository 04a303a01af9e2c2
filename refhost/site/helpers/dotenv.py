"""`usr/.env`: read into the environment at the start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from helpers.files import get_abs_path

KEY_AUTH_LOGIN = "AUTH_LOGIN"
KEY_AUTH_PASSWORD = "AUTH_PASSWORD"
KEY_RFC_PASSWORD = "RFC_PASSWORD"
KEY_ROOT_PASSWORD = "ROOT_PASSWORD"


def get_dotenv_file_path() -> str:
    return get_abs_path("usr/.env")


def parse(text: str) -> dict[str, str]:
    """`KEY=value` lines; keys in capitals, one pair of quotes around the value is taken off."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key and not key.startswith("#"):
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
            found[key.strip().upper()] = value[1:-1] if quoted else value
    return found


def load_dotenv() -> None:
    path = Path(get_dotenv_file_path())
    if path.is_file():
        os.environ.update(parse(path.read_text("utf-8")))


def get_dotenv_value(key: str, default: Any = None) -> Any:
    return os.environ.get(key, default)
