"""Guards inside the statements themselves: what a rule above them would have refused, they refuse too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from journal import runs
from journal.errors import StaleVersion
from journal.records import RunState
from tests.store.worlds import World


@pytest.mark.parametrize("lag", [-1, 1])
def test_a_move_from_another_version_hits_nothing(world: World, lag: int) -> None:
    run = world.admit()
    other = replace(run, version=run.version + lag)

    with pytest.raises(StaleVersion):
        world.journal._write(lambda scribe: runs.move(scribe, other, RunState.HELD, "run_held")).result()

    assert world.journal.run(run.run_id) == run


def test_a_move_from_another_state_hits_nothing(world: World) -> None:
    run = world.admit()
    other = replace(run, state=RunState.QUEUED)

    with pytest.raises(StaleVersion):
        world.journal._write(lambda scribe: runs.move(scribe, other, RunState.HELD, "run_held")).result()

    assert world.journal.run(run.run_id) == run
