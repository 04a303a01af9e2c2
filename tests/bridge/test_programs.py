"""Other programs: background chats that the host takes away, and requests that carry a key of their own."""

from __future__ import annotations

import hashlib
import json
import threading
import urllib.error
import urllib.request

import pytest

from refhost.model import answer, use
from tests.support.story import FAULTS, Panel

TEXT = "please do it for me"


@pytest.fixture
def scripted(model, gate):
    """One effect that waits for the gate, then an answer."""
    model.script(answer("all done"), when="result-of-a", repeat=True)
    model.script(use("effect", arg="a", value="result-of-a", gate=str(gate)), when=TEXT, repeat=True)


def token(world):
    lines = dict(line.split("=", 1) for line in (world.usr / ".env").read_text().splitlines())
    return hashlib.sha256(f"{lines['A0_PERSISTENT_RUNTIME_ID']}:None".encode()).hexdigest()[:16]


def request(world, key, message=TEXT, **more):
    """POST /api/api_message; the status and the answer."""
    headers = {"Content-Type": "application/json", "X-API-KEY": token(world)} | ({"Idempotency-Key": key} if key else {})
    data = json.dumps({"message": message, **more}).encode()
    asked = urllib.request.Request(f"{world.url}/api/api_message", data, headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def in_background(client, text=TEXT):
    """A program that waits for the answer of a background chat; what it got stands in the list."""
    got: list[object] = []

    def ask():
        try:
            got.append(client.call("background_message", {"message": text}))
        except Exception as error:
            got.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, got


def only_run(client):
    (run,) = Panel(client).all_runs()
    return run


def test_the_turn_of_a_background_chat_is_recorded_and_its_end_is_no_stop(world, model, gate, scripted):
    gate.touch()
    client = world.start().client()

    reply = client.call("background_message", {"message": TEXT})

    assert reply["response"] == "all done"
    assert only_run(client)["state"] == "completed"
    assert world.effects() == ["start a", "end a"]


def test_a_program_that_is_gone_after_the_restart_is_asked_about_once_and_the_answer_can_be_read(world, model, gate, scripted):
    world.start()
    thread, got = in_background(world.client())
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect to start")
    world.kill()
    thread.join()
    assert isinstance(got[0], Exception)

    client = world.start().client()
    panel = Panel(client)
    held = panel.wait_held()
    assert held["run"]["reason"]["code"] == "outcome_unknown"
    assert "does not wait for the answer" in held["run"]["reason"]["text"]
    world.restart()  # a hold of a background chat stands as often as it takes
    client = world.client()
    panel = Panel(client)
    assert panel.decide(panel.wait_held(), "confirmed_completed", "looked", result_text="result-of-a").status == 200

    client.wait(lambda: only_run(client)["state"] == "completed", what="the end of the run")
    assert "all done" in str(panel.run(only_run(client)["run_id"])["calls"][-1])  # nobody else can read it any more
    assert world.effects() == ["start a"]


def test_nothing_of_a_background_chat_goes_on_by_itself_after_a_restart(world, model):
    model.script(use("wait", seconds=1), answer("all done"))
    fault = {"FAULT": "after:begin_call.tool:1", "FAULT_MARK": str(world.folder / "mark")}
    thread, _ = in_background(world.start(env=fault, inject=FAULTS).client())
    world.wait_dead()
    thread.join()

    client = world.start().client()
    panel = Panel(client)
    held = panel.wait_held()
    assert held["run"]["reason"]["code"] == "ask"
    assert "does not wait for the answer" in held["run"]["reason"]["text"]
    asked = len(model.requests("chat"))
    assert asked == 1

    assert panel.decide(held, "resume").status == 200
    client.wait(lambda: only_run(client)["state"] == "completed", what="the end of the run")


def test_a_held_run_in_the_living_process_survives_the_cleaning_up_of_its_caller(world, model):
    world.add_plugin("odd", {"tools/odd.py": ODD})
    model.script(use("odd"), answer("never"), answer("after the decision"))
    client = world.start().client()
    thread, got = in_background(client)
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    run = only_run(client)

    client.nudge(run["chat_id"])  # in the middle of the tool: held
    thread.join(60)

    assert "on hold" in got[0]["response"]
    held = Panel(client).wait_held(run["chat_id"])
    assert only_run(client)["state"] == "held"
    model.clear()
    model.script(answer("after the decision"))
    assert Panel(client).decide(held, "confirmed_completed", "looked", result_text="done").status == 200
    client.wait(lambda: only_run(client)["state"] == "completed", what="the end of the run")


def test_the_same_key_is_the_same_request_also_without_a_chat_and_after_a_kill(world, model, gate, scripted):
    gate.touch()
    client = world.start().client()

    first = request(world, "key-1")
    again = request(world, "key-1")
    world.restart()
    later = request(world, "key-1")
    client = world.client()

    assert first == again == later
    assert first[0] == 200
    assert world.effects() == ["start a", "end a"]
    assert [run["chat_id"] for run in Panel(client).all_runs()] == [first[1]["context_id"]]
    assert [entry["id"] for entry in client.poll()["contexts"]] == [first[1]["context_id"]]  # no empty chat is left
    assert [item["content"] for item in client.logs(first[1]["context_id"]) if item["type"] == "user"] == [TEXT]


def test_the_same_key_in_its_chat_draws_no_second_bubble(world, model):
    model.script(answer("one"), answer("two"))
    client = world.start().client()
    chat = client.create_chat()

    replies = [request(world, "key-2", "hello", context_id=chat) for _ in range(2)]

    assert replies == [(200, {"context_id": chat, "response": "one"})] * 2
    assert [item["content"] for item in client.logs(chat) if item["type"] == "user"] == ["hello"]
    client.wait_log(chat, "info", "recorded answer")


def test_a_key_for_something_else_is_a_conflict(world, model):
    model.script(answer("one"), answer("two"), answer("three"))
    client = world.start().client()
    chat = request(world, "key-3", "hello")[1]["context_id"]
    other = client.create_chat()

    status, body = request(world, "key-3", "something else")
    assert (status, "refused" in body["error"]) == (409, True)
    assert request(world, "key-3", "something else", context_id=chat)[0] == 409
    assert request(world, "key-3", "hello", context_id=other)[0] == 409
    assert request(world, "k" * 300, "hello")[0] == 400

    assert len(model.requests("chat")) == 1
    assert len(Panel(client).all_runs()) == 1


def test_two_equal_requests_at_once_are_one_turn(world, model, gate, scripted):
    client = world.start().client()
    got: list[object] = []
    senders = [threading.Thread(target=lambda: got.append(request(world, "key-4"))) for _ in range(2)]
    for sender in senders:
        sender.start()
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    gate.touch()
    for sender in senders:
        sender.join(60)

    assert got[0] == got[1]
    assert world.effects() == ["start a", "end a"]


def test_a_message_that_is_queued_in_the_turn_of_a_keyed_request_is_no_repeat_of_it(world, model, gate):
    model.script(answer("to the queued one"), when="the queued one", repeat=True)
    model.script(answer("all done"), when="result-of-a", repeat=True)
    model.script(use("effect", arg="a", value="result-of-a", gate=str(gate)), when=TEXT, repeat=True)
    client = world.start().client()
    sender = threading.Thread(target=request, args=(world, "key-5"))
    sender.start()
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    chat = only_run(client)["chat_id"]

    client.queue(chat, "the queued one")
    gate.touch()
    sender.join(60)

    client.wait_log(chat, "response", "to the queued one")
    assert len(Panel(client).all_runs()) == 2


def test_a_request_without_a_key_is_as_before(world, model):
    model.script(answer("one"), answer("two"))
    world.start()

    assert [request(world, "", "hello")[1]["response"] for _ in range(2)] == ["one", "two"]


ODD = """
import asyncio, os
from helpers import tool

class Odd(tool.Tool):
    async def execute(self, **kwargs):
        handle = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"start a {os.getpid()}\\n".encode())
        os.close(handle)
        await asyncio.sleep(3600)
"""
