"""Killed between the choice of a state and its end: the copy is one, and nothing of the chat is lost (I6, I7)."""

from __future__ import annotations

import pytest

from tests.recovery.test_restore import held
from tests.support.behind import chats, go_on, on_again, use_while_off
from tests.support.story import Panel
from tests.support.traps import MOMENTS

pytestmark = pytest.mark.crash

__all__ = ["held"]


@pytest.mark.parametrize("point", ["before:state_restored:1", "after:state_restored:1", "after:choose_state:1", "before:rebuild:1"])
def test_a_kill_in_the_middle_of_going_back_makes_no_second_copy_and_loses_nothing(world, model, held, tmp_path, point):
    use_while_off(world, held)
    newer = world.client().history(held)
    world.toggle_file(True)
    mark = tmp_path / "mark"
    world.restart(env={"FAULT": point, "FAULT_MARK": str(mark)}, inject=MOMENTS)
    panel = Panel(world.client())
    detail = panel.wait_held(held)
    try:
        panel.restore(detail, "Go back")
    except OSError:
        assert mark.exists()
    world.wait_dead()

    world.start()

    go_on(world, held)
    (copy,) = [chat for chat, name in chats(world).items() if "before it was brought back" in name]
    assert world.client().history(copy) == newer
    assert "while off" not in world.client().history(held)
    assert world.effects() == ["start a"]


def test_used_again_after_the_choice_and_before_it_was_carried_out_is_kept_too(world, model, held, tmp_path):
    use_while_off(world, held)
    world.toggle_file(True)
    world.restart(env={"FAULT": "after:choose_state:1", "FAULT_MARK": str(tmp_path / "mark")}, inject=MOMENTS)
    panel = Panel(world.client())
    detail = panel.wait_held(held)
    with pytest.raises(OSError, match=r"."):
        panel.restore(detail, "Go back")
    world.wait_dead()
    world.toggle_file(False)
    world.start()
    world.client().say(held, "while off, and again")
    world.client().wait_idle(held)

    on_again(world)

    go_on(world, held)
    (copy,) = [chat for chat, name in chats(world).items() if "before it was brought back" in name]
    assert "and again" in world.client().history(copy)
