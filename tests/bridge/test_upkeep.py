"""Old runs go in the background: after the start and daily, never beside a recovery, and an error is only noted.

A real journal; the activation and the host's output are stand-ins, since a day cannot be waited for.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from usr.plugins.durable_execution.bridge import notify, settings, upkeep
from usr.plugins.durable_execution.bridge.activation import Activation
from usr.plugins.durable_execution.bridge.session import Phase
from usr.plugins.durable_execution.journal.errors import StoreFull

from journal.records import RunState
from tests.store.worlds import World


class Active(SimpleNamespace):
    every = Activation.every

    def chat_lock(self, chat_id: str) -> Any:
        return self.locks.setdefault(chat_id, threading.RLock())


@pytest.fixture
def old(tmp_path: Path) -> Any:
    """Three finished runs of one chat, long ago."""
    world = World(tmp_path / "journal")
    for number in range(3):
        run = world.admit("chat", f"m{number}")
        world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point(), []).result()
        world.clock.turn(1)
    world.clock.turn(40 * 86_400)
    yield world
    world.close()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(notify, "write", lines.append)
    return lines


def active(world: World, **sessions: Any) -> Any:
    config = {**settings.DEFAULTS, "retention_runs": 1}
    jobs = {name: session for name, session in sessions.items() if session.child is not None}
    sessions = {name: session for name, session in sessions.items() if session.child is None}
    here = {"sessions": sessions, "children": jobs, "projectors": {"chat": None, "busy": None}, "locks": {}, "lock": threading.RLock()}
    return Active(journal=world.journal, settings=config, **here)


def at(phase: Phase, *, passed: Any = None, child: Any = None) -> Any:
    return SimpleNamespace(phase=phase, on_passed=passed, child=child)


def job(task: Any) -> Any:
    """A job of `parallel` that works without a chat of its own; `task` is the host's, once there is one."""
    return SimpleNamespace(has_chat=False, job=task)


def due_now(monkeypatch: pytest.MonkeyPatch) -> upkeep.Upkeep:
    monkeypatch.setattr(upkeep, "FIRST_S", 0.0)
    return upkeep.Upkeep()


def left(world: World) -> int:
    return len(world.journal.runs_of("chat"))


def test_the_first_round_comes_some_time_after_the_start_and_the_next_a_day_later(
    old: World, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    early = upkeep.Upkeep()
    early.tick(active(old))
    early.stop()
    assert left(old) == 3

    clockwork = due_now(monkeypatch)
    clockwork.tick(active(old))
    assert clockwork._thread is not None
    clockwork._thread.join()
    assert left(old) == 1
    first = clockwork._thread
    clockwork.tick(active(old))
    assert clockwork._thread is first
    assert said == []


@pytest.mark.parametrize(
    "session",
    [
        at(Phase.READY),
        at(Phase.RUNNING, passed=print),
        at(Phase.READY, child=job(print)),
        at(Phase.RUNNING, passed=print, child=job(print)),
    ],
)
def test_no_round_begins_beside_a_recovery(old: World, said: list[str], monkeypatch: pytest.MonkeyPatch, session: Any) -> None:
    clockwork = due_now(monkeypatch)

    clockwork.tick(active(old, other=session))

    assert clockwork._thread is None
    clockwork.tick(active(old, other=at(Phase.HELD), waits_for_its_parent=at(Phase.READY, child=job(None))))
    clockwork._thread.join()
    assert left(old) == 1


def test_a_round_ends_when_the_plugin_is_switched_off(old: World, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = due_now(monkeypatch)
    clockwork._stop.wait = lambda seconds: clockwork._stop.set() or True  # type: ignore[method-assign, func-returns-value]

    clockwork.tick(active(old))
    clockwork.stop()

    assert left(old) == 3
    clockwork.tick(active(old))
    assert said == []


def test_an_error_is_noted_and_nothing_else(old: World, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (StoreFull(), ValueError("quotes a secret")):
        monkeypatch.setattr(old.journal, "prune", lambda *told, error=error, **more: (_ for _ in ()).throw(error))
        clockwork = due_now(monkeypatch)
        clockwork.tick(active(old))
        clockwork._thread.join()  # type: ignore[union-attr]

    assert [line.startswith("Old runs were not removed this time") for line in said] == [True, True]
    assert "secret" not in "".join(said)


def test_chats_at_rest_hand_their_next_state_in_whole_and_those_at_work_do_not(old: World) -> None:
    for chat in ("chat", "busy"):
        old.journal.known(chat).add("a" * 64)  # type: ignore[arg-type]

    upkeep.forget_idle(active(old, busy=at(Phase.RUNNING)))

    assert old.journal.known("chat") == set()
    assert old.journal.known("busy") == {"a" * 64}


@pytest.mark.parametrize(
    ("name", "value"), [("retention_runs", 0), ("retention_days", 0), ("retention_days", "30"), ("retention_runs", True)]
)
def test_a_wrong_setting_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        settings.checked({name: value})
