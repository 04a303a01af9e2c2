"""A world with the plugin switched on and a scripted model, started for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refhost.model import Model
from refhost.world import World


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    with Model.start(tmp_path / "model") as running:
        yield running


@pytest.fixture
def world(tmp_path: Path, model: Model) -> Iterator[World]:
    with World(tmp_path / "world", model=model) as made:
        yield made


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file whose appearance lets a waiting effect end."""
    return tmp_path / "gate"
