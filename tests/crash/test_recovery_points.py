"""SIGKILL in the middle of a recovery, and of that recovery's recovery: counted first, nothing repeated (I10)."""

from __future__ import annotations

import contextlib

import pytest

from refhost.model import Model
from refhost.world import World
from tests.crash.test_crash_points import RESULT, TEXT, assert_each_once, assert_looks_untouched, fault_env, script
from tests.support.story import FAULTS, Panel, settle

pytestmark = pytest.mark.crash

RESUMED = "after:finish_call.tool:1"  # goes on by itself
HELD = "after:begin_call.tool:1"  # waits for a person

RECOVERY = [
    (first, second)
    for first in (RESUMED, HELD)
    for second in (
        "before:begin_recovery:1",
        "after:begin_recovery:1",
        "before:rebuild:1",
        "after:rebuild:1",
        "before:settle:1",
        "after:settle:1",
    )
] + [(RESUMED, second) for second in ("before:claim:1", "after:claim:1", "after:launch:1", "before:begin_call.tool:1")]
DECIDED = ["before:decide:1", "after:decide:1", "before:claim:1", "after:claim:1", "after:begin_call.tool:1"]


def run_into(world: World, tmp_path, fault: str) -> str:
    world.start(env=fault_env(tmp_path, fault), inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    with contextlib.suppress(OSError):
        client.ask("message_async", {"text": TEXT, "context": chat})
    world.wait_dead()
    return chat


@pytest.mark.parametrize(("first", "second"), RECOVERY)
def test_a_kill_during_recovery_changes_nothing(tmp_path, first, second):
    again = tmp_path / "again"
    again.mkdir()
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        script(model)
        chat = run_into(world, tmp_path, first)
        world.start(env=fault_env(again, second), inject=FAULTS, wait=False)
        world.wait_dead()

        world.start()
        met = settle(world, chat, "a", result_text=RESULT)

        assert met == (["outcome_unknown"] if first == HELD else [])
        assert world.effects().count("start a") == 1
        assert len(model.requests("chat")) == 2
        assert_each_once(model)
        assert_looks_untouched(world, chat, warnings=len(met))


@pytest.mark.parametrize("second", DECIDED)
def test_a_decision_survives_a_kill_and_is_acted_on_once(tmp_path, second):
    again = tmp_path / "again"
    again.mkdir()
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        script(model)
        chat = run_into(world, tmp_path, HELD)
        world.start(env=fault_env(again, second), inject=FAULTS)
        panel = Panel(world.client())
        with contextlib.suppress(OSError):
            panel.decide(panel.wait_held(chat), "confirmed_not_completed", "The outside file has no line.")
        world.wait_dead()
        assert world.effects() == []

        world.start()
        met = settle(world, chat, "a", result_text=RESULT)

        # asked again only where the decision was not recorded, or was used up by an attempt that was cut off
        assert met == (["outcome_unknown"] if second in ("before:decide:1", "after:begin_call.tool:1") else [])
        assert world.effects() == ["start a", "end a"]
        assert len(model.requests("chat")) == 2
        assert_each_once(model)


def test_three_more_kills_without_progress_are_a_crash_loop_and_other_chats_work(tmp_path):
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        script(model)
        chat = run_into(world, tmp_path, RESUMED)
        for number in range(3):
            mark = tmp_path / f"again{number}"
            mark.mkdir()
            world.start(env=fault_env(mark, "after:launch:1"), inject=FAULTS, wait=False)
            world.wait_dead()

        world.start(env=fault_env(tmp_path, "after:launch:1"), inject=FAULTS)
        panel = Panel(world.client())
        assert panel.wait_held(chat)["run"]["reason"]["code"] == "crash_loop"
        assert world.client().say(world.client().create_chat(), RESULT) == "all done"
        panel.decide(panel.wait_held(chat), "resume")
        settle(world, chat, "a", result_text=RESULT)

        assert world.effects() == ["start a", "end a"]
