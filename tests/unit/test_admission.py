"""Each message is taken in once; what comes in between waits, is delivered once, or is offered (I5)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from journal.errors import ChatBusy, InputConflict, RunEnded, TooLarge
from journal.records import InputState, RunState
from tests.store.worlds import MODE, World


def admit_again(world: World, message: str, content: dict[str, str], **more: bool):  # type: ignore[no-untyped-def]
    return world.journal.admit("chat", message, content, "T", MODE, world.point(), **more).result()


@pytest.mark.parametrize("state", RunState, ids=lambda state: state.value)
def test_the_same_message_again_is_the_recorded_run(world: World, state: RunState) -> None:
    run = world.run_in(state)

    again = admit_again(world, run.input_id, run.input)

    assert again.repeat
    assert again.run.run_id == run.run_id
    assert len(world.journal.runs_of("chat")) == 1


@pytest.mark.parametrize("state", RunState, ids=lambda state: state.value)
def test_the_same_id_with_other_content_is_refused(world: World, state: RunState) -> None:
    run = world.run_in(state)

    with pytest.raises(InputConflict) as refusal:
        admit_again(world, run.input_id, {"text": "something else"})

    assert refusal.value.stored == run.input_digest
    assert len(world.journal.runs_of("chat")) == 1


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.QUEUED, RunState.HELD], ids=lambda state: state.value)
def test_a_chat_has_one_unfinished_run(world: World, state: RunState) -> None:
    run = world.run_in(state)

    with pytest.raises(ChatBusy) as refusal:
        world.admit(message="another")

    assert refusal.value.run.run_id == run.run_id


def test_chats_do_not_wait_for_each_other(world: World) -> None:
    assert world.admit("a").run_id != world.admit("b").run_id


def test_many_at_once_are_admitted_once(world: World) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: admit_again(world, "m", {"text": "x"}), range(40)))

    assert sum(not answer.repeat for answer in answers) == 1
    assert len({answer.run.run_id for answer in answers}) == 1


def test_a_new_run_is_running_and_has_its_first_checkpoint(world: World) -> None:
    run = world.admit(content={"text": "go", "attachments": [b"\x00"]})

    assert (run.state, run.version, run.token) == (RunState.RUNNING, 1, 1)
    assert run.input == {"text": "go", "attachments": [b"\x00"]}
    assert run.mode == MODE
    loaded = world.journal.resume_point(run.run_id)
    assert loaded.tree.value(loaded.tree.list(loaded.tree.value(loaded.root)["history"])[0]) == "hello"
    assert world.journal.unfinished() == [run]


def test_a_message_in_between_is_kept_once_and_in_order(world: World) -> None:
    run = world.admit()
    for number in (2, 1, 3, 1):
        world.journal.keep_input(run.run_id, f"in between {number}", {"text": str(number)}).result()

    waiting = world.journal.waiting("chat")

    assert [each.content["text"] for each in waiting] == ["2", "1", "3"]
    assert {each.state for each in waiting} == {InputState.WAITING}


def test_a_kept_message_with_other_content_is_refused(world: World) -> None:
    run = world.admit()
    world.journal.keep_input(run.run_id, "x", {"text": "1"}).result()

    with pytest.raises(InputConflict):
        world.journal.keep_input(run.run_id, "x", {"text": "2"}).result()
    with pytest.raises(InputConflict):
        world.journal.keep_input(run.run_id, run.input_id, {"text": "2"}).result()


def test_the_message_that_began_the_run_is_not_kept_a_second_time(world: World) -> None:
    run = world.admit()

    again = world.journal.keep_input(run.run_id, run.input_id, run.input).result()

    assert again.state is InputState.DELIVERED
    assert world.journal.waiting("chat") == []


def test_a_message_is_delivered_with_the_checkpoint_that_holds_it(world: World) -> None:
    run = world.admit()
    world.journal.keep_input(run.run_id, "x", {"text": "1"}).result()
    world.journal.keep_input(run.run_id, "y", {"text": "2"}).result()

    world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}), ["x"]).result()

    assert [each.input_id for each in world.journal.waiting("chat")] == ["y"]
    assert [each.state for each in world.journal.inputs(run.run_id)] == [InputState.DELIVERED, InputState.WAITING]


def test_what_waits_at_the_end_becomes_the_next_turn_once(world: World) -> None:
    run = world.admit()
    world.journal.keep_input(run.run_id, "x", {"text": "1"}).result()
    waiting = world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point(), []).result()
    assert [each.input_id for each in waiting] == ["x"]

    assert admit_again(world, "x", {"text": "1"}).repeat
    following = admit_again(world, "x", {"text": "1"}, claim_waiting=True)
    again = admit_again(world, "x", {"text": "1"}, claim_waiting=True)

    assert not following.repeat
    assert following.run.run_id != run.run_id
    assert (again.repeat, again.run.run_id) == (True, following.run.run_id)
    assert world.journal.waiting("chat") == []


def test_a_message_that_waits_is_not_taken_in_with_other_content(world: World) -> None:
    run = world.admit()
    world.journal.keep_input(run.run_id, "x", {"text": "1"}).result()
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point(), []).result()

    with pytest.raises(InputConflict):
        admit_again(world, "x", {"text": "2"}, claim_waiting=True)


def test_messages_left_over_by_a_crash_between_two_turns_are_found(world: World) -> None:
    run = world.admit()
    world.journal.keep_input(run.run_id, "x", {"text": "1"}).result()
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point(), []).result()

    world.restart()

    assert world.journal.unfinished() == []
    assert [(each.chat_id, each.input_id) for each in world.journal.all_waiting()] == [("chat", "x")]


def test_after_a_stop_messages_are_offered_and_not_sent(world: World) -> None:
    run = world.admit()
    world.journal.keep_input(run.run_id, "x", {"text": "1"}).result()

    world.journal.stop_run(run.run_id, "panel").result()

    assert world.journal.waiting("chat") == []
    assert [each.state for each in world.journal.inputs(run.run_id)] == [InputState.OFFERED]
    assert not admit_again(world, "x", {"text": "1"}, claim_waiting=True).repeat


def test_an_ended_run_keeps_no_message(world: World) -> None:
    run = world.run_in(RunState.COMPLETED)

    with pytest.raises(RunEnded):
        world.journal.keep_input(run.run_id, "x", {"text": "1"}).result()


def test_a_message_id_is_looked_up_in_any_thread(world: World) -> None:
    run = world.admit(message="m", content={"text": "1"})
    world.journal.keep_input(run.run_id, "x", {"text": "2"}).result()

    with ThreadPoolExecutor(1) as other:
        found = [
            other.submit(world.journal.find_input, "chat", message, {"text": text}).result()
            for message, text in (("m", "1"), ("m", "9"), ("x", "2"), ("x", "9"), ("z", "1"))
        ]

    assert [pair and pair[0] for pair in found] == ["same", "other", "same", "other", None]


def test_a_message_that_is_too_large_is_refused_before_anything_is_written(world: World) -> None:
    head = world.journal.head()

    with pytest.raises(TooLarge):
        world.journal.admit("chat", "m", {"text": b"x" * (65 * 1024 * 1024)}, "T", MODE, world.point()).result()

    assert world.journal.head() == head
