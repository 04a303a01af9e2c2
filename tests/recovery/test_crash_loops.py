"""A run that takes the server down is found and held; its neighbours, and runs that only waited, are not (I10)."""

from __future__ import annotations

import contextlib

import pytest

from refhost.model import Model
from refhost.world import World
from tests.support.scenes import ended
from tests.support.story import Panel
from tests.support.traps import MOMENTS, Trap

pytestmark = pytest.mark.crash

INNOCENT = ("please one", "please two")


@pytest.mark.parametrize("when", ["launch", "load"])
def test_the_guilty_run_is_held_after_three_ends_and_its_neighbours_end_well(tmp_path, when):
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        trap = Trap(world, model, tmp_path / "trap", when)
        guilty, *others = trap.cut_off("please, the guilty one", *INNOCENT)
        for _ in range(3):
            trap.start(dies=True)

        trap.start()

        panel = Panel(world.client())
        detail = panel.wait_held(guilty)
        assert trap.deaths() == 3
        assert detail["run"]["reason"]["code"] == "crash_loop"
        assert "The server ended three times" in detail["run"]["reason"]["text"]
        assert ("was loaded" in detail["run"]["reason"]["text"]) is (when == "load")
        assert [ended(world, chat) for chat in others] == ["completed", "completed"]
        assert [item["chat_id"] for item in panel.needs_you()] == [guilty]
        assert world.effects() == ["start a", "end a"] * 3
        assert len([text for text in trap.launched() if "guilty" in text]) == (3 if when == "launch" else 0)
        assert "on hold" in world.client().say(guilty, "go on")

        (trap.folder / "deadly").unlink()
        assert panel.decide(panel.wait_held(guilty), "resume").status == 200
        assert ended(world, guilty) == "completed"
        assert world.effects() == ["start a", "end a"] * 3


def test_after_an_unclean_end_the_suspect_is_the_last_and_goes_alone(tmp_path):
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        trap = Trap(world, model, tmp_path / "trap", "launch")
        guilty, *others = trap.cut_off("please, the guilty one", *INNOCENT)
        trap.start(dies=True)
        before = len(trap.launched())
        (trap.folder / "deadly").unlink()

        trap.start()

        assert [ended(world, chat) for chat in (guilty, *others)] == ["completed"] * 3
        assert trap.launched()[before:][-1] == "please, the guilty one"


def test_one_more_end_after_a_resume_holds_it_again_at_once(tmp_path):
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        trap = Trap(world, model, tmp_path / "trap", "launch")
        (guilty,) = trap.cut_off("please, the guilty one")
        for _ in range(3):
            trap.start(dies=True)
        trap.start()
        panel = Panel(world.client())
        held = panel.wait_held(guilty)
        with contextlib.suppress(OSError):  # the server dies while it answers, or after
            panel.decide(held, "resume")
        world.wait_dead()

        trap.start()

        assert Panel(world.client()).wait_held(guilty)["run"]["reason"]["code"] == "crash_loop"
        assert trap.deaths() == 4


def test_ends_of_another_cause_never_hold_a_run_that_waited_for_its_turn(tmp_path):
    """Killed five times after the chats were rebuilt and before any was launched: a slow start, an impatient person."""
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        trap = Trap(world, model, tmp_path / "trap")
        chats = trap.cut_off(*INNOCENT)
        for _ in range(5):
            fault = {"FAULT": "before:all_waiting:1", "FAULT_MARK": str(tmp_path / "mark"), "FAULT_AGAIN": "1"}
            world.start(env=trap.env | fault, inject=MOMENTS, wait=False)
            world.wait_dead()

        trap.start()

        assert [ended(world, chat) for chat in chats] == ["completed", "completed"]
        assert Panel(world.client()).needs_you() == []


def test_what_the_system_says_about_memory_stands_in_the_hold(tmp_path):
    count = tmp_path / "count"
    count.write_text("1")
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        trap = Trap(world, model, tmp_path / "trap", "load", MEMORY=str(count))
        (guilty,) = trap.cut_off("please, the guilty one")
        for kills in (2, 3, 3):
            trap.start(dies=True)
            count.write_text(str(kills))

        trap.start()

        text = Panel(world.client()).wait_held(guilty)["run"]["reason"]["text"]
        assert "for lack of memory (2 of 3 times)" in text


def test_a_held_chat_whose_loading_ends_the_server_keeps_its_question(tmp_path):
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model) as world:
        trap = Trap(world, model, tmp_path / "trap", "load")
        world.start(env=trap.env | {"FAULT": "after:begin_call.tool:1", "FAULT_MARK": str(tmp_path / "mark")}, inject=MOMENTS)
        guilty = world.client().create_chat()
        with contextlib.suppress(OSError):
            world.client().ask("message_async", {"text": "please, the guilty one", "context": guilty, "message_id": "one"})
        world.wait_dead()
        (other,) = trap.cut_off("please one")
        for _ in range(3):
            trap.start(dies=True)

        trap.start()

        panel = Panel(world.client())
        detail = panel.wait_held(guilty)
        assert detail["run"]["reason"]["code"] == "outcome_unknown"
        assert "was not loaded" in detail["run"]["reason"]["text"]
        assert ended(world, other) == "completed"
        (trap.folder / "deadly").unlink()
        assert panel.decide(detail, "confirmed_not_completed", "No line in the outside file.").status == 200
        assert ended(world, guilty) == "completed"
