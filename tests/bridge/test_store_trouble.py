"""The journal cannot be written: nothing runs unrecorded, nothing is lost, and the chat says why (parking)."""

from __future__ import annotations

import resource
from contextlib import contextmanager

import pytest

from refhost.model import answer, use
from tests.support.scenes import Saying, begin_effect, calls, ended, locked, script_effect, status, wait_status
from tests.support.story import API, Panel


@contextmanager
def full(world):
    """No file of the server may grow beyond what the journal's newest part has now: as on a full disk."""
    _, hard = resource.prlimit(world.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(world.pid, resource.RLIMIT_FSIZE, ((world.data_folder / "journal.db-wal").stat().st_size, hard))
    try:
        yield
    finally:
        resource.prlimit(world.pid, resource.RLIMIT_FSIZE, (hard, hard))


TROUBLES = pytest.mark.parametrize("trouble", [locked, full])


def wait_told(world, chat):
    """The chat says that its step waits, and the status says why."""
    client = world.client()
    warning = client.wait_log(chat, "warning", "The journal cannot be written")
    assert "waits and is not lost" in warning["content"]
    client.wait(lambda: client.poll(chat)["log_progress"].startswith("Waiting: "), what="the line above the input")
    assert status(world)["store_problem"]


def assert_undisturbed(world, model, chat, requests):
    """The host saw no error, the model was asked as often as in a quiet turn."""
    assert [i["content"] for i in world.client().logs(chat) if i["type"] == "error" or "Traceback" in i["content"]] == []
    assert "Traceback" not in world.output()
    assert len(model.requests("chat")) == requests
    assert {call["status"] for call in calls(world, chat)} == {"saved"}


@TROUBLES
def test_a_result_that_cannot_be_saved_is_kept_and_saved_later(world, model, gate, trouble):
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)

    with trouble(world):
        gate.touch()
        wait_told(world, chat)
        assert world.effects() == ["start a", "end a"]
        assert len(model.requests("chat")) == 1

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a"]
    assert_undisturbed(world, model, chat, 2)
    wait_status(world, store_problem=None)


@TROUBLES
def test_nothing_starts_before_its_intent_is_saved_and_it_goes_on_by_itself(world, model, trouble):
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script({**use("effect", arg="a"), "gate": "go"}, repeat=True)
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    model.wait_requests(1)

    with trouble(world):
        model.release("go")
        wait_told(world, chat)
        assert world.effects() == []

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a"]
    assert_undisturbed(world, model, chat, 2)


def test_other_chats_are_not_blocked_while_one_step_waits(world, model, gate):
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("effect", arg="slow", gate=f"{gate} slow"), when="slowly", repeat=True)
    model.script(use("effect", arg="a", gate=str(gate)), when="please", repeat=True)
    world.start()
    slow = begin_effect(world, "slowly")
    chat = begin_effect(world)

    with locked(world):
        gate.touch()
        wait_told(world, chat)
        gate.with_name(f"{gate.name} slow").touch()
        world.client().wait(lambda: "end slow" in world.effects(), what="the other chat's effect to end")
        assert status(world)["counts"]["unfinished"] == 2  # read while the lock is held

    assert (ended(world, slow), ended(world, chat)) == ("completed", "completed")
    assert sorted(world.effects()) == ["end a", "end slow", "start a", "start slow"]


@TROUBLES
def test_a_message_that_cannot_be_recorded_is_refused_visibly_and_never_counts(world, model, trouble):
    model.script(answer("the one answer"), repeat=True)
    world.start()
    client = world.client()
    chat = client.create_chat()

    with trouble(world):
        reply = client.say(chat, "hello", "one-id")
        assert "not taken in and nothing was started" in reply
        assert client.wait_log(chat, "warning", "not recorded")

    assert client.say(client.create_chat(), "hello") == "the one answer"  # what was submitted before it is settled
    assert not client.running(chat)
    assert [run["state"] for run in Panel(client).all_runs() if run["chat_id"] == chat] == []
    world.restart()
    assert len(model.requests("chat")) == 1
    assert world.client().say(chat, "hello", "second-id") == "the one answer"


def test_a_message_to_a_running_turn_that_cannot_be_saved_is_refused_and_not_delivered(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    chat = begin_effect(world)

    with locked(world):
        assert "not taken in" in client.say(chat, "one more thing", "one-id")
    client.send(chat, "one more thing", "second-id")
    gate.touch()

    assert ended(world, chat) == "completed"
    assert model.requests("chat")[-1].prompt.count("one more thing") == 1
    world.restart()
    run = Panel(world.client()).all_runs()[0]["run_id"]
    assert len(Panel(world.client()).all_runs()) == 1  # what was refused is not sent as a turn of its own either
    assert Panel(world.client()).run(run)["messages"] == []
    assert len(model.requests("chat")) == 2


def test_a_journal_that_was_removed_parks_the_step_and_refuses_new_ones(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    chat = begin_effect(world)
    for file in world.data_folder.glob("journal.db*"):
        file.unlink()

    gate.touch()

    wait_told(world, chat)
    client.wait(lambda: "removed or replaced" in status(world)["store_problem"], what="the reason in the status")
    assert "not taken in and nothing was started" in client.say(client.create_chat(), "hello")
    assert "not taken in" in client.say(chat, "hello")
    reply = client.ask(API + "recovery_list", {"tab": "all"})
    assert (reply.status, reply.json["code"]) == (503, "store_lost")
    assert world.effects() == ["start a", "end a"]
    assert len(model.requests("chat")) == 1
    world.toggle_file(False)
    wait_status(world, active=False)
    client.wait_log(chat, "response", "all done")
    assert world.effects() == ["start a", "end a"]


def test_a_kill_while_the_result_waits_leaves_the_outcome_unknown(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    with locked(world):
        gate.touch()
        wait_told(world, chat)
        world.kill()

    world.start()

    panel = Panel(world.client())
    assert panel.wait_held(chat)["run"]["reason"]["code"] == "outcome_unknown"
    assert world.effects() == ["start a", "end a"]


def test_a_journal_that_is_locked_at_the_start_is_taken_up_when_it_is_free(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    world.client().wait(lambda: world.chat_file(chat), what="the chat's file")
    world.kill()
    with locked(world):
        world.start(env={"JOB_LOOP_SECONDS": "0.3"})
        assert status(world)["why_not"]["code"] == "store_locked"
        assert "nothing was started" in world.client().say(chat, "hello")

    wait_status(world, active=True)

    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen").status == 200
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a"]


def test_the_caller_of_a_turn_gets_its_answer_after_the_trouble(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    chat = client.create_chat()
    saying = Saying(world, chat, "please")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    with locked(world):
        gate.touch()
        wait_told(world, chat)
    saying.join(60)

    assert saying.answer == "all done"
