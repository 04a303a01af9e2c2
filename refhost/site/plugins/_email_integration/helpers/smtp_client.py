"""The way out: `start reply:<first word>` and `end …` in a file outside the world stand for a mail. Settings choose how it ends.

`gate`: waits between the lines until this file exists. `raises`: fails after the second line, `before`: before it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from helpers.errors import format_error
from helpers.print_style import PrintStyle

ERRORS: dict[str, type[Exception]] = {"timeout": TimeoutError, "connection": ConnectionError, "refused": ValueError}


async def send_reply(config: dict[str, Any], to: str, body: str, attachments: list[str]) -> str | None:
    """As in the host: an error becomes a text, whatever it was."""
    word = "reply:" + "+".join([*body.split()[:1], *attachments])
    try:
        _note("start", word)
        while config.get("gate") and not Path(config["gate"]).exists():
            await asyncio.sleep(0.02)
        if config.get("before"):
            raise ERRORS[config["before"]](f"mail to {to}")
        _note("end", word)
        if config.get("raises"):
            raise ERRORS[config["raises"]](f"mail to {to}")
        return None
    except Exception as error:
        text = format_error(error)
        PrintStyle.error(f"Email send failed: {text}")
        return text


def _note(what: str, word: str) -> None:
    """One write of one line, as the effect tool does it."""
    handle = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, f"{what} {word} {os.getpid()}\n".encode())
    os.close(handle)
