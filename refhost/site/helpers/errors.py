"""The exceptions that steer the message loop, and how an exception is written out."""

from __future__ import annotations

import traceback


class RepairableException(Exception):
    """The model is told about it and may try again."""


class InterventionException(Exception):
    """The user wrote a message: the rest of this step is skipped."""


class HandledException(Exception):
    """Already shown to the user: ends the turn without a retry."""


def error_text(e: BaseException) -> str:
    return str(e)


def format_error(e: BaseException, start_entries: int = 20, end_entries: int = 15, error_message_position: str = "top") -> str:
    """The error's own line first, then the whole traceback; this host cuts none."""
    lines = traceback.format_exception(e)
    return f"{lines[-1].strip()}\n\n{''.join(lines[:-1]).rstrip()}"
