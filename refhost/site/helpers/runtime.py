"""Arguments and identity of this server process."""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

args: dict[str, Any] = {}
runtime_id: str | None = None


def initialize() -> None:
    """Reads `--name=value` arguments once."""
    if not args:
        pairs = [item.lstrip("-").split("=", 1) for item in sys.argv[1:] if "=" in item]
        args.update({"host": None, "port": None, **dict(pairs)})


def get_arg(name: str) -> Any:
    return args.get(name)


def has_arg(name: str) -> bool:
    return name in args


def is_dockerized() -> bool:
    return bool(get_arg("dockerized"))


def is_development() -> bool:
    return not is_dockerized()


def get_runtime_id() -> str:
    global runtime_id
    if runtime_id is None:
        runtime_id = secrets.token_hex(8)
    return runtime_id


def get_persistent_id() -> str:
    return os.environ.get("A0_PERSISTENT_RUNTIME_ID", "")


def get_web_ui_port() -> int:
    return int(get_arg("port") or os.environ.get("WEB_UI_PORT") or 5000)
