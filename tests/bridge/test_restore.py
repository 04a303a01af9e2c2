"""A chat that was used, deleted or branched behind the record: the ways on, in short (I6). `make recovery` has them all."""

from __future__ import annotations

from refhost.model import answer
from tests.support.behind import NEIGHBOUR, chats, do, go_on, on_again, use_while_off
from tests.support.scenes import hold_in_effect, script_effect
from tests.support.story import Panel


def held_and_off(world, model, gate):
    model.script(answer("said while off"), when="while off", repeat=True)
    script_effect(model, gate)
    world.start()
    chat = hold_in_effect(world)
    world.client().toggle(False)
    return chat


def test_back_to_the_record_keeps_what_was_newer_as_a_chat_of_its_own(world, model, gate):
    chat = held_and_off(world, model, gate)
    use_while_off(world, chat)
    newer = world.client().history(chat)
    panel = on_again(world)

    assert panel.restore(panel.wait_held(chat), "Go back").status == 200
    go_on(world, chat)

    (copy,) = [other for other, name in chats(world).items() if "before it was brought back" in name]
    assert world.client().history(copy) == newer
    assert "while off" not in world.client().history(chat)
    assert world.effects() == ["start a"]


def test_a_deleted_chat_comes_back_if_a_person_wants_it(world, model, gate):
    chat = held_and_off(world, model, gate)
    world.client().remove(chat)
    panel = on_again(world, "live")

    assert panel.restore(panel.wait_held(chat), "Bring").status == 200
    go_on(world, chat)

    assert chats(world).keys() == {chat}
    assert world.effects() == ["start a"]


def test_a_branch_of_a_held_chat_is_an_ordinary_chat(world, model, gate):
    model.script(answer("from the branch"), when="in the branch", repeat=True)
    script_effect(model, gate)
    world.add_plugin("neighbour", {"api/neighbour.py": NEIGHBOUR})
    world.start()
    chat = hold_in_effect(world)

    branch = do(world, chat, "branch")

    assert world.client().say(branch, "in the branch") == "from the branch"
    assert [item["chat_id"] for item in Panel(world.client()).needs_you()] == [chat]
