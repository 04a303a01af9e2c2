"""Moments that nobody plans for: two things at once, and a kill where the host's own memory of a turn would be lost."""

from __future__ import annotations

import contextlib
import threading
import uuid

import pytest

from refhost.model import answer, use
from tests.support.scenes import begin_effect, ended, script_effect
from tests.support.story import FAULTS, Panel, settle

SLOW = """
import time
from helpers.extension import Extension


class Slow(Extension):
    def execute(self, data=None, **kwargs):
        if any("slow" in getattr(part, "message", "") for part in data["args"]):
            time.sleep(1)
"""


def fault(tmp_path, point, mark="killed"):
    return {"env": {"FAULT": point, "FAULT_MARK": str(tmp_path / mark)}, "inject": FAULTS}


def send_into_death(world, text="please", chat=None, ident=None):
    client = world.client()
    chat = chat or client.create_chat()
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.ask("message_async", {"text": text, "context": chat, "message_id": ident or uuid.uuid4().hex})
    world.wait_dead()
    return chat


def told(request):
    return "\n".join(str(m["content"]) for m in request.messages if m["role"] == "user")


def at_once(*actions):
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()  # each waits for its own things, for a minute


def slow_host(world, point):
    """A host that is slow for messages with the word "slow", after the plugin took them in."""
    world.add_plugin("slow", {f"extensions/python/_functions/agent/AgentContext/{point}/start/_99_slow.py": SLOW})


# -- what the host remembers of a turn ---------------------------------------------------


@pytest.mark.parametrize("point", ["after:finish_call.model:2", "before:begin_call.model:3"])
def test_an_answer_that_the_model_repeats_does_not_act_twice_because_of_a_kill(world, model, tmp_path, point):
    again = use("effect", arg="a", value="one")
    model.script(again, again, answer("all done"))
    world.start(**fault(tmp_path, point))
    chat = send_into_death(world)

    world.start()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a"]
    assert len(model.requests("chat")) == 3


def test_a_repeated_answer_is_still_noticed_after_three_kills(world, model, tmp_path):
    again = use("effect", arg="a", value="one")
    model.script(again, again, answer("all done"))
    world.start(**fault(tmp_path, "before:begin_call.model:2"))
    chat = send_into_death(world)
    for mark, point in (("second", "before:begin_call.model:1"), ("third", "after:finish_call.model:1")):
        world.start(wait=False, **fault(tmp_path, point, mark))
        world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a"]


def test_the_same_answer_in_two_turns_is_no_repetition(world, model, tmp_path):
    model.script(answer("same"), answer("same"))
    world.start()
    chat = world.client().create_chat()
    assert world.client().say(chat, "one") == "same"
    world.kill()
    world.start(**fault(tmp_path, "after:begin_call.tool:1"))
    send_into_death(world, "two", chat)

    world.start()

    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 2


def test_a_message_that_was_queued_during_the_last_step_survives_a_kill(world, model, tmp_path):
    model.script(answer("one", gate="go"), answer("two"))
    world.start(**fault(tmp_path, "before:close_run:1"))
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "first")
    model.wait_requests(1)
    client.queue(chat, "queued words")
    model.release("go")
    world.wait_dead()
    assert "queued words" in str(world.chat_file(chat))  # the host saved it after our last resume point

    world.start()

    assert told(model.wait_requests(2)[-1]).count("queued words") == 1


def test_a_message_that_was_queued_while_the_run_was_held_is_sent_when_it_ends(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat, client = begin_effect(world), world.client()
    client.nudge(chat)
    detail = Panel(client).wait_held(chat)
    client.queue(chat, "queued words")

    Panel(client).decide(detail, "confirmed_completed", "seen outside")

    assert told(model.wait_requests(3)[-1]).count("queued words") == 1


# -- messages between two chairs --------------------------------------------------------


def test_what_a_person_said_during_a_model_call_that_died_is_read_before_the_model_is_asked_again(world, model):
    model.script(answer("I stopped"), when="do not do it", repeat=True)
    model.script(use("effect", arg="a"), when="never asked again", repeat=True)
    model.script(answer("x" * 300, gate="never", gate_at=5), use("effect", arg="a"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    model.wait_requests(1)
    client.send(chat, "do not do it")

    world.restart()

    assert settle(world, chat, "a") == ["model_interrupted"]
    assert world.effects() == []
    assert told(model.requests("chat")[-1]).count("do not do it") == 1


def test_a_message_that_comes_before_the_host_started_the_turn_joins_it(world, model):
    slow_host(world, "run_task")
    model.script(answer("done"), repeat=True)
    world.start()
    chat, first, second = world.client().create_chat(), world.client(), world.client()
    second.poll()

    def then():
        second.wait(lambda: Panel(second).all_runs(), what="the first message to be taken in")
        second.send(chat, "right behind")

    at_once(lambda: first.send(chat, "slow start"), then)

    assert ended(world, chat) == "completed"
    second.wait(lambda: "right behind" in told(model.requests("chat")[-1]), what="the second message to be read")
    assert "slow start" in told(model.requests("chat")[0])
    second.wait(lambda: {run["state"] for run in Panel(second).all_runs()} == {"completed"}, what="the turn that read it to end")
    assert all(told(model.requests("chat")[-1]).count(text) == 1 for text in ("slow start", "right behind"))


def test_a_message_that_the_host_hands_over_late_is_not_read_twice(world, model, gate):
    slow_host(world, "communicate")
    model.script(use("effect", arg="a", gate=str(gate)), answer("x" * 300, gate="go", gate_at=5), answer("done"))
    world.start()
    client = world.client()
    chat = begin_effect(world)

    def let_go():
        other = world.client()
        other.wait(lambda: Panel(other).run(Panel(other).all_runs()[0]["run_id"])["messages"], what="the note to be saved")
        gate.touch()

    at_once(lambda: client.send(chat, "a slow note"), let_go)
    model.release("go")

    assert ended(world, chat) == "completed"
    assert told(model.requests("chat")[-1]).count("a slow note") == 1


@pytest.mark.parametrize("point", ["before:keep_input:1", "after:keep_input:1"])
def test_a_kill_while_a_message_is_kept_for_a_held_run(world, model, tmp_path, gate, point):
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    world.restart(**fault(tmp_path, point))
    Panel(world.client()).wait_held(chat)
    send_into_death(world, "a kept word", chat, "same-id")

    world.start()
    world.client().send(chat, "a kept word", "same-id")
    settle(world, chat, "a")

    assert told(model.requests("chat")[-1]).count("a kept word") == 1
    assert [i["content"] for i in world.client().logs(chat) if i["type"] == "user"] == ["please", "a kept word"]


# -- decisions ---------------------------------------------------------------------------


def test_four_tabs_that_decide_at_once_make_one_decision(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    world.restart()
    gate.touch()
    detail = Panel(world.client()).wait_held(chat)
    together, replies = threading.Barrier(4), {}

    def decide(choice):
        panel = Panel(world.client())
        together.wait(60)
        replies[choice] = panel.decide(detail, choice, "x").status

    at_once(*[lambda c=c: decide(c) for c in ("stop", "confirmed_completed", "confirmed_not_completed", "new_attempt")])

    assert sorted(replies.values()) == [200, 409, 409, 409]
    won = next(choice for choice, status in replies.items() if status == 200)
    assert ended(world, chat) == ("stopped" if won == "stop" else "completed")
    assert world.effects().count("start a") == (1 if won in ("stop", "confirmed_completed") else 2)


def test_three_granted_attempts_that_are_all_cut_off_ask_again(world, model):
    model.script(*[answer("x" * 500, gate=f"never{n}", gate_at=4) for n in range(4)], answer("done"))
    world.start()
    chat = world.client().create_chat()
    world.client().send(chat, "please")
    model.wait_requests(1)
    world.restart()
    panel = Panel(world.client())
    assert panel.grant(panel.wait_held(chat), 3).status == 200
    for number in (2, 3, 4):
        model.wait_requests(number)
        world.restart()

    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "model_interrupted"
    assert len(model.requests("chat")) == 4
    assert panel.grant(detail, 1).status == 200
    assert ended(world, chat) == "completed"


def test_a_tool_cut_off_inside_a_subordinate_is_decided_and_the_subordinate_goes_on(world, model, gate):
    inner = use("effect", arg="inner", gate=str(gate))
    model.script(use("call_subordinate", message="do it", reset="true"), inner, answer("it is so"), answer("all done"), answer("more"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: world.effects() == ["start inner"], what="the inner effect to start")
    world.restart()
    panel = Panel(world.client())

    assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text="inner result").status == 200

    assert ended(world, chat) == "completed"
    assert told(model.requests("chat")[-2]).count("inner result") == 1
    assert told(model.requests("chat")[-1]).count("it is so") == 1
    assert world.effects() == ["start inner"]
    assert world.client().say(chat, "next") == "more"


COUNTER = """
from helpers.tool import Tool, Response

class Counter(Tool):
    async def execute(self, **kwargs):
        count = self.agent.context.data.get("count", 0) + 1
        self.agent.context.data["count"] = count
        self.agent.data["seen"] = [*self.agent.data.get("seen", []), count]
        return Response(message=f"count {count}", break_loop=False)
"""


def test_what_a_tool_left_in_the_data_comes_back_with_its_result(world, model, tmp_path):
    """Skills that were loaded, counters and the like: a checkpoint has them only from the next step on."""
    world.add_plugin("counter", {"tools/counter.py": COUNTER})
    model.script(use("counter"), use("counter", again="yes"), answer("counted"))
    fault = {"FAULT": "after:finish_call.tool:1", "FAULT_MARK": str(tmp_path / "killed")}
    world.start(env=fault, inject=FAULTS)
    chat = world.client().create_chat()
    world.client().send(chat, "count twice")
    world.wait_dead()

    world.start(env=fault, inject=FAULTS)
    world.client().wait_log(chat, type="response", text="counted")

    prompt = model.requests("chat")[-1].prompt
    assert (prompt.count("count 1"), prompt.count("count 2")) == (1, 1)
