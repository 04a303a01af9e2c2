"""Faults that take minutes. Each says at the end of the run, in one line, what was tried and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.store.worlds import World
from tests.support.examples import FULL

_LINES: list[str] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.faults)
            item.add_marker(pytest.mark.timeout(1800))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    held, tried = (
        len(
            [report for name in names for report in terminalreporter.stats.get(name, []) if "properties" in getattr(report, "keywords", {})]
        )
        for names in (("passed",), ("passed", "failed"))
    )
    if FULL and tried:
        _LINES.append(f"Properties ({FULL} examples each where examples are tried) {held} of {tried}")
    for line in sorted(_LINES):
        terminalreporter.write_line(line)


@pytest.fixture
def tally() -> Callable[[str, int, int], None]:
    """Note a fault with the number of cases that held, of how many."""

    def note(what: str, held: int, tried: int) -> None:
        _LINES.append(f"{what} {held} of {tried}")

    return note


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "journal")
    yield world
    world.close()
