"""The SHA-256 of a file's bytes in hex: what names a body, seals a copy, pins a source. Judges nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path


def of_file(path: Path) -> str:
    """Raises OSError where the file cannot be read."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
