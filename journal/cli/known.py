"""The secrets that a terminal knows: those of its environment. What the host's store holds was masked when it was stored."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ..masking import Masker, Secret

_TELLING = re.compile(r"KEY|TOKEN|SECRET|PASSW|DSN|^A0_", re.IGNORECASE)


def environment() -> Masker:
    return Masker(_secrets)


def _secrets() -> Iterator[Secret]:
    for name, value in os.environ.items():
        if _TELLING.search(name) and not value.startswith(("/", "./", "~")):
            yield Secret(name, value)
