"""Which of many alike cases wait for `make thorough`, so that `make test` stays short."""

from __future__ import annotations

from typing import Any

import pytest


def thorough(*cases: Any) -> list[Any]:
    """Cases of a `parametrize`, each a value or a tuple of values."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough, id=None) for case in cases]
