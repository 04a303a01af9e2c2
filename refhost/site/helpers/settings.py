"""The few settings that this host has. They come from `usr/.env`."""

from __future__ import annotations

import hashlib
import os
from typing import Any


def get_settings() -> dict[str, Any]:
    login = f"{os.environ.get('A0_PERSISTENT_RUNTIME_ID')}:{os.environ.get('AUTH_LOGIN')}"
    return {
        "agent_profile": os.environ.get("AGENT_PROFILE", "agent0"),
        "timezone": "UTC",
        "mcp_server_token": hashlib.sha256(login.encode()).hexdigest()[:16],
        "history_tokens": int(os.environ.get("HISTORY_TOKENS", "90000")),
        "max_consecutive_unusable_responses": 2,
    }


def reload_settings() -> None:
    """Settings are read from the environment at each use."""
