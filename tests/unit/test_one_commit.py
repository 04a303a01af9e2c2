"""How often a turn commits, counted exactly: by the store's own number, and by the kernel where strace is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import syncs
from bench.engine import Engine


@pytest.mark.parametrize(("way", "commits"), [("5", 5), ("9", 9)])
def test_a_turn_of_four_calls_commits_so_often(tmp_path: Path, way: str, commits: int) -> None:
    engine = Engine(tmp_path)
    turn = engine.turn_of_5 if way == "5" else engine.turn_of_9
    turn()
    before = committed(engine)

    for _ in range(3):
        turn()

    after = committed(engine)
    engine.close()
    assert after - before == 3 * commits


def committed(engine: Engine) -> int:
    row = engine.journal._store.read(lambda tx: tx.one("batch_number"))
    assert row is not None
    return int(row["number"])


@pytest.mark.parametrize(("way", "commits"), [("5", 5), ("9", 9)])
def test_each_of_these_commits_is_one_sync(tmp_path: Path, way: str, commits: int) -> None:
    counted = syncs.count(tmp_path / "traced", way)
    if counted is None:
        pytest.skip("strace cannot trace here")

    assert counted == commits
