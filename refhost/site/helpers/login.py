"""Whether somebody must log in, and the proof that a session carries."""

from __future__ import annotations

import hashlib

from helpers import dotenv


def get_credentials_hash() -> str | None:
    user = dotenv.get_dotenv_value(dotenv.KEY_AUTH_LOGIN)
    password = dotenv.get_dotenv_value(dotenv.KEY_AUTH_PASSWORD)
    return hashlib.sha256(f"{user}:{password}".encode()).hexdigest() if user else None


def is_login_required() -> bool:
    return bool(dotenv.get_dotenv_value(dotenv.KEY_AUTH_LOGIN))
