"""Messages: taken in once, saved before they are acknowledged, delivered once and in order (I5, I14)."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path

from refhost.model import answer, raw, use
from tests.support.story import Panel


def bubbles(client, chat, kind):
    return [item["content"] for item in client.logs(chat) if item["type"] == kind]


def told(request):
    """What people said, as one text, in the order in which the model read it."""
    return "\n".join(str(m["content"]) for m in request.messages if m["role"] == "user")


def assert_once_in_order(request, *texts):
    text = told(request)
    places = [text.find(part) for part in texts]
    assert all(text.count(part) == 1 for part in texts), text
    assert places == sorted(places), text


def test_the_same_message_again_gives_the_recorded_answer_and_no_second_bubble(world, model):
    model.script(answer("first answer"), answer("second answer"))
    world.start()
    client = world.client()
    chat, ident = client.create_chat(), uuid.uuid4().hex

    first = client.say(chat, "hello", ident)
    again = client.say(chat, "hello", ident)

    assert (first, again) == ("first answer", "first answer")
    assert len(model.requests("chat")) == 1
    assert bubbles(client, chat, "user") == ["hello"]


def test_the_same_message_after_a_restart_gives_the_recorded_answer(world, model):
    model.script(answer("only answer"), answer("never"))
    world.start()
    client = world.client()
    chat, ident = client.create_chat(), uuid.uuid4().hex
    client.say(chat, "hello", ident)
    client.wait_idle(chat)

    world.restart()

    assert world.client().say(chat, "hello", ident) == "only answer"
    assert len(model.requests("chat")) == 1
    assert bubbles(world.client(), chat, "user") == ["hello"]


def test_the_same_message_twice_at_once_is_one_run(world, model):
    model.script(answer("one", gate="go"), answer("two"))
    world.start()
    client = world.client()
    chat, ident = client.create_chat(), uuid.uuid4().hex
    answers: list[str] = []
    senders = [threading.Thread(target=lambda: answers.append(world.client().say(chat, "hello", ident))) for _ in range(2)]

    for sender in senders:
        sender.start()
    model.wait_requests(1)
    model.release("go")
    for sender in senders:
        sender.join()

    assert answers == ["one", "one"]
    assert len(model.requests("chat")) == 1
    assert bubbles(client, chat, "user") == ["hello"]


def test_the_same_id_with_other_content_is_refused_where_the_person_sees_it(world, model):
    model.script(answer("fine"), answer("never"))
    world.start()
    client = world.client()
    chat, ident = client.create_chat(), uuid.uuid4().hex
    client.say(chat, "hello", ident)

    reply = client.say(chat, "something else", ident)

    assert "refused" in reply
    assert any("refused" in item["content"] for item in client.logs(chat) if item["type"] == "warning")
    assert bubbles(client, chat, "user") == ["hello"]
    assert len(model.requests("chat")) == 1


def test_three_quick_messages_to_a_running_tool_arrive_once_and_in_order(world, model, tmp_path):
    gate = tmp_path / "gate"
    model.script(use("effect", arg="a", gate=str(gate)), answer("done"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "start")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    for text in ("note one", "note two", "note three"):
        client.send(chat, text)
    gate.touch()
    client.wait_idle(chat)

    assert world.effects() == ["start a", "end a"]
    assert_once_in_order(model.requests("chat")[-1], "start", "note one", "note two", "note three")
    assert told(model.requests("chat")[-1]).count("tool_result") == 1  # I15: the saved result was not lost
    assert bubbles(client, chat, "user") == ["start", "note one", "note two", "note three"]


def test_messages_that_were_acknowledged_survive_a_kill_and_arrive_once_and_in_order(world, model, tmp_path):
    gate = tmp_path / "gate"
    model.script(use("effect", arg="a", gate=str(gate)), answer("done"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "start")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    for text in ("note one", "note two", "note three"):
        client.send(chat, text)

    world.restart()
    client, panel = world.client(), Panel(world.client())
    detail = panel.wait_held(chat)
    assert [m["text"] for m in detail["messages"]] == ["note one", "note two", "note three"]
    assert panel.decide(detail, "confirmed_completed", "seen outside").status == 200
    client.wait(lambda: [r["state"] for r in panel.all_runs()] == ["completed"], what="the run to end")

    assert world.effects() == ["start a"]
    assert_once_in_order(model.requests("chat")[-1], "start", "note one", "note two", "note three")
    assert bubbles(client, chat, "user") == ["start", "note one", "note two", "note three"]


def test_a_message_during_a_model_answer_replaces_that_answer(world, model):
    model.script(answer("never seen whole", gate="a", gate_at=10), answer("after the note"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "start")
    model.wait_requests(1)

    client.send(chat, "a note")
    model.release("a")
    client.wait_idle(chat)

    assert len(model.requests("chat")) == 2
    assert_once_in_order(model.requests("chat")[-1], "start", "a note")
    run = Panel(client).run(Panel(client).all_runs()[0]["run_id"])
    assert next(c["status"] for c in run["calls"] if c["kind"] == "model") == "superseded"


def test_a_message_inside_a_polling_tool_leaves_a_record_that_it_may_still_run(world, model, gate):
    model.script(use("effect", arg="a", poll=True, gate=str(gate)), answer("after the note"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "start")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    client.send(chat, "a note")
    client.wait_idle(chat)

    assert "may still be running" in told(model.requests("chat")[-1])
    assert_once_in_order(model.requests("chat")[-1], "start", "a note")
    run = Panel(client).run(Panel(client).all_runs()[0]["run_id"])
    assert next(c["status"] for c in run["calls"] if c["kind"] == "tool") == "interrupted"


def test_no_file_of_a_message_needs_the_chat_file(world, model, tmp_path):
    """A new chat that is killed in its first model call has no chat.json; nothing is lost."""
    model.script(answer("late", gate="never"))
    model.script(raw("A name", gate="never"), kind="utility")  # the host saves a chat when it has found a name for it
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "the first words")
    model.wait_requests(1)
    assert world.chat_file(chat) is None

    world.restart()

    assert bubbles(world.client(), chat, "user") == ["the first words"]
    assert Panel(world.client()).wait_held(chat)["run"]["reason"]["code"] == "model_interrupted"
    assert Path(world.data_folder).is_dir()


LATE_HOOK = '''
"""Stands between the append of a result and the host's next look for messages."""

import os, time
from pathlib import Path

from helpers.extension import Extension


class LateHook(Extension):
    def execute(self, data=None, **kwargs):
        Path(os.environ["AT_APPEND"]).touch()
        while not Path(os.environ["GO_ON"]).exists():
            time.sleep(0.01)
'''


def test_a_message_right_after_a_result_was_appended_does_not_append_it_again(world, model, tmp_path):
    world.add_plugin("late_hook", {"extensions/python/hist_add_tool_result/_95_late_hook.py": LATE_HOOK})
    model.script(answer("done"), when="note one", repeat=True)
    model.script(use("effect", arg="a", value="result-of-a"), repeat=True)
    world.start(env={"AT_APPEND": str(tmp_path / "at"), "GO_ON": str(tmp_path / "go")})
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "start")
    client.wait((tmp_path / "at").exists, what="the append")
    client.send(chat, "note one")

    (tmp_path / "go").touch()
    client.wait_log(chat, type="response", text="done")

    assert_once_in_order(model.requests("chat")[-1], "start", "result-of-a", "note one")
    assert world.effects() == ["start a", "end a"]
