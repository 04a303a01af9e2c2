"""A chat that was used, deleted, reset, compacted, branched or renamed behind the record: what a person finds, and the ways on (I6)."""

from __future__ import annotations

import shutil
import sqlite3

import pytest

from refhost.model import answer, use
from tests.support.behind import NEIGHBOUR, chats, do, go_on, on_again, use_while_off
from tests.support.scenes import begin_effect, calls, ended, hold_in_effect, script_effect
from tests.support.story import API, Panel


@pytest.fixture
def held(world, model, gate):
    """A chat that was killed inside its effect, is held, and whose plugin is off."""
    model.script(answer("said while off"), when="while off", repeat=True)
    script_effect(model, gate)
    world.add_plugin("neighbour", {"api/neighbour.py": NEIGHBOUR})
    world.start()
    chat = hold_in_effect(world)
    world.client().toggle(False)
    return chat


@pytest.mark.parametrize("way", ["live", "restart"])
def test_back_to_the_record_keeps_what_was_newer_as_a_chat_of_its_own(world, model, held, way):
    before = world.client().history(held)
    use_while_off(world, held)
    newer = world.client().history(held)
    panel = on_again(world, way)
    detail = panel.wait_held(held)
    assert [(offer["id"] == "now", offer["needs_ack"]) for offer in detail["restore"]] == [(True, False), (False, True)]

    assert panel.restore(detail, "Go back").status == 200
    go_on(world, held)

    (copy,) = [chat for chat, name in chats(world).items() if "before it was brought back" in name]
    assert world.client().history(copy) == newer
    assert world.client().history(held).startswith(before)
    assert "while off" not in world.client().history(held)
    assert "kept in the chat" in world.client().wait_log(held, "info", "kept in the chat")["content"]
    assert world.effects() == ["start a"]
    assert world.client().say(copy, "while off") == "said while off"  # an ordinary chat
    world.restart()
    assert len(chats(world)) == 2
    assert Panel(world.client()).needs_you() == []


def test_the_chat_as_it_is_ends_the_run_and_the_agent_hears_of_its_saved_results(world, model, gate):
    first, second = use("effect", arg="one", value="the first result"), use("effect", arg="two", gate=str(gate))
    model.script(answer("said while off"), when="while off", repeat=True)
    model.script(first, second)
    world.add_plugin("neighbour", {"api/neighbour.py": NEIGHBOUR})
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: "start two" in world.effects(), what="the second effect to start")
    world.restart()
    Panel(world.client()).wait_held(chat)
    world.client().toggle(False)
    do(world, chat, "compact")
    panel = on_again(world)
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "chat_moved_on"

    assert panel.restore(detail, "Keep").status == 200

    assert ended(world, chat) == "stopped"
    history = world.client().history(chat)
    assert "A summary of everything" in history
    assert history.count("): the first result") == 1
    assert "unknown whether these steps happened" in history
    assert "effect(arg=two" in history
    assert len(chats(world)) == 1
    assert world.client().say(chat, "while off") == "said while off"


def test_a_chat_that_was_deleted_while_off_comes_back_if_a_person_wants_it(world, model, held):
    world.client().remove(held)
    panel = on_again(world)
    detail = panel.wait_held(held)
    assert (detail["run"]["reason"]["code"], detail["run"]["chat_exists"]) == ("chat_gone", False)
    assert [offer["title"] for offer in detail["restore"]] == ["Bring the chat back"]
    assert world.client().context(held) is None

    assert panel.restore(detail, "Bring").status == 200
    go_on(world, held)

    assert [item["content"] for item in world.client().logs(held) if item["type"] == "user"] == ["please"]
    assert world.effects() == ["start a"]
    assert len(chats(world)) == 1


def test_a_chat_that_was_reset_while_off_can_be_taken_back(world, model, held):
    world.client().reset(held)
    panel = on_again(world)
    detail = panel.wait_held(held)
    assert detail["run"]["reason"]["code"] == "chat_moved_on"

    assert panel.restore(detail, "Go back").status == 200
    go_on(world, held)

    assert world.effects() == ["start a"]


def test_deleted_by_a_person_while_on_is_a_stop_and_leaves_no_ghost(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = hold_in_effect(world)

    world.client().remove(chat)

    world.restart()
    assert chats(world) == {}
    assert Panel(world.client()).needs_you() == []
    assert [run["state"] for run in Panel(world.client()).all_runs()] == ["stopped"]


def test_a_chat_whose_file_vanished_under_the_server_goes_on_from_the_record(world, model, gate):
    """Nobody deleted it here: that is no Stop. Its first question stays, and then it is asked whether the chat comes back."""
    script_effect(model, gate)
    world.add_plugin("neighbour", {"api/neighbour.py": NEIGHBOUR})
    world.start()
    chat = hold_in_effect(world)
    shutil.rmtree(world.usr / "chats" / chat)
    do(world, chat, "drop")
    assert world.client().context(chat) is None
    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text="it was done").status == 200
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "chat_gone"

    assert panel.restore(detail, "Bring").status == 200

    assert ended(world, chat) == "completed"
    assert [item["content"] for item in world.client().logs(chat) if item["type"] == "user"] == ["please"]
    assert world.effects() == ["start a"]


def test_a_chat_compacted_by_a_person_while_its_run_was_held_is_not_gone_on_with_unasked(world, model, gate):
    script_effect(model, gate)
    world.add_plugin("neighbour", {"api/neighbour.py": NEIGHBOUR})
    world.start()
    chat = hold_in_effect(world)
    do(world, chat, "compact")
    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text="it was done").status == 200
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "chat_moved_on"

    assert panel.restore(detail, "Keep").status == 200

    assert ended(world, chat) == "stopped"
    assert "A summary of everything" in world.client().history(chat)
    assert "it was done" in world.client().history(chat)


# -- what is no reason at all ---------------------------------------------------------------------


def test_a_chat_renamed_while_off_keeps_its_name_and_goes_on(world, model, held):
    do(world, held, "rename", name="My own name")

    panel = on_again(world)

    assert chats(world) == {held: "My own name"}
    assert panel.wait_held(held)["run"]["title"] == "My own name"
    go_on(world, held)


def test_old_topics_that_were_summed_up_are_no_use_of_the_chat(world, model, held):
    do(world, held, "sum_up")
    on_again(world, "live")

    go_on(world, held)

    assert world.effects() == ["start a"]


def test_a_branch_of_a_held_chat_is_an_ordinary_chat(world, model, gate):
    model.script(answer("from the branch"), when="in the branch", repeat=True)
    script_effect(model, gate)
    world.add_plugin("neighbour", {"api/neighbour.py": NEIGHBOUR})
    world.start()
    chat = hold_in_effect(world)
    branch = do(world, chat, "branch")

    assert world.client().say(branch, "in the branch") == "from the branch"
    world.restart()

    assert [item["chat_id"] for item in Panel(world.client()).needs_you()] == [chat]
    entry = world.client().context(branch)
    assert entry is not None
    assert "_durable_execution" not in entry
    go_on(world, chat)
    assert "in the branch" not in world.client().history(chat)
    assert world.effects() == ["start a"]


# -- a record that cannot be read -----------------------------------------------------------------


def damage(world, statement):
    connection = sqlite3.connect(world.data_folder / "journal.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


NEWEST_ROOT = "update checkpoints set body = x'7b7d' where seq = (select max(seq) from checkpoints)"
SECOND_RESULT = (
    "update blobs set body = x'7b7d' where digest = (select value_digest from calls where kind = 'tool' order by seq limit 1 offset 1)"
)


def two_effects(world, model, gate):
    """A chat with two finished effects that was killed in its third."""
    for arg in ("one", "two"):
        model.script(use("effect", arg=arg, value=f"result {arg}"))
    model.script(use("effect", arg="three", gate=str(gate)), answer("all done"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: "start three" in world.effects(), what="the third effect to start")
    world.kill()
    return chat


def test_with_an_older_state_the_saved_steps_are_served_and_nothing_happens_twice(world, model, gate):
    chat = two_effects(world, model, gate)
    damage(world, NEWEST_ROOT)
    world.start()
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "checkpoint_corrupt"
    assert [offer["needs_ack"] for offer in detail["restore"]] == [False, False]
    assert detail["backup"] is None
    made = world.client().call(API + "backup_make")
    assert panel.run(detail["run"]["run_id"])["backup"] == str(world.data_folder / "backups" / made["made"])

    assert panel.restore(detail, "Go back").status == 200
    go_on(world, chat)

    assert world.effects() == ["start one", "end one", "start two", "end two", "start three"]
    told = "\n".join(str(m["content"]) for m in model.requests("chat")[-1].messages if m["role"] == "user")
    assert [told.count(words) for words in ("result one", "result two", "it was done")] == [1, 1, 1]
    assert len(model.requests("chat")) == 4


def test_a_step_whose_record_cannot_be_read_is_done_again_only_after_consent(world, model, gate):
    chat = two_effects(world, model, gate)
    damage(world, SECOND_RESULT)
    model.script(use("effect", arg="three", gate=str(gate)), answer("all done"))
    gate.touch()
    world.start()
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "checkpoint_corrupt"
    first = next(offer for offer in detail["restore"] if "after step 2" in offer["title"])
    assert first["needs_ack"]

    refused = panel.restore(detail, first["title"], ack=False)
    assert (refused.status, refused.json["code"], refused.json["field"]) == (422, "ack_missing", "ack")
    assert panel.restore(detail, first["title"]).status == 200

    assert ended(world, chat) == "completed"
    assert world.effects().count("start one") == 1
    assert [call["abandoned"] for call in calls(world, chat)].count(True) >= 1


def test_nothing_can_be_chosen_where_the_message_itself_cannot_be_read(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    world.kill()
    damage(world, "update blobs set body = x'7b7d' where digest = (select input_digest from runs)")
    world.start()
    panel = Panel(world.client())

    detail = panel.wait_held(chat)

    assert [offer["allowed"] for offer in detail["restore"]] == [False]
    assert "cannot be read" in detail["restore"][0]["reason"]
    assert panel.decide(detail, "stop").status == 200
    assert ended(world, chat) == "stopped"
