"""The four settings that say what happens where nothing proves what happened, with real kills."""

from __future__ import annotations

import json

import pytest

from refhost.model import answer, use
from tests.support.scenes import begin_effect, calls, ended, script_effect
from tests.support.story import FAULTS, Panel

REPORT = "It may have happened and may still be running"


def configured(world, *, moment="", **mode):
    """A started world whose new runs behave like this; at `moment` it is killed."""
    world.start(env={"FAULT": moment, "FAULT_MARK": str(world.folder / "killed")} if moment else {}, inject=FAULTS if moment else None)
    reply = world.client().configure(mode)
    assert reply.status == 200, reply.text
    return world.client()


def reason(world, chat):
    return Panel(world.client()).wait_held(chat)["run"]["reason"]["code"]


def test_mode_ask_waits_for_resume_and_then_goes_on_by_itself(world, model, gate):
    model.script(use("wait", seconds=1), answer("all done"))
    client = configured(world, moment="after:begin_call.tool:1", on_restart="ask")
    chat = client.create_chat()
    client.send(chat, "please")
    world.wait_dead()
    world.start()
    panel = Panel(world.client())

    detail = panel.wait_held(chat)

    assert detail["run"]["reason"]["code"] == "ask"
    assert {d["id"] for d in detail["decisions"] if d["allowed"]} == {"resume", "stop"}
    assert len(model.requests("chat")) == 1
    assert panel.decide(detail, "resume").status == 200
    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 2


def test_mode_ask_asks_about_an_unknown_step_once(world, model, gate):
    script_effect(model, gate)
    configured(world, on_restart="ask")
    chat = begin_effect(world)
    world.restart()
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "ask"

    assert panel.decide(detail, "confirmed_completed", "The outside file has the line.").status == 200

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a"]


def test_mode_ask_does_not_ask_again_for_what_was_resumed_before_another_kill(world, model, gate):
    script_effect(model, gate)
    configured(world, on_restart="ask")
    chat = begin_effect(world)
    world.restart()
    panel = Panel(world.client())
    panel.decide(panel.wait_held(chat), "confirmed_completed", "The outside file has the line.")
    assert ended(world, chat) == "completed"

    world.restart()

    assert Panel(world.client()).needs_you() == []
    assert world.effects() == ["start a"]


def test_mode_report_tells_the_model_and_goes_on_without_a_person(world, model, gate):
    script_effect(model, gate)
    configured(world, interrupted_tool_call="report")
    chat = begin_effect(world)

    world.restart()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a"]
    assert model.requests("chat")[-1].prompt.count(REPORT) == 1
    assert [(call["kind"], call["outcome"]) for call in calls(world, chat)][:2] == [("model", "ok"), ("tool", "unknown")]
    assert any(REPORT in item["content"] for item in world.client().logs(chat) if item["type"] == "tool")


def test_mode_retry_asks_a_cut_off_model_once_more_and_then_waits_for_a_person(world, model):
    model.script(answer("never heard", gate="never", gate_at=5), answer("nor this", gate="never", gate_at=5), answer("all done"))
    client = configured(world, interrupted_model_call="retry")
    chat = client.create_chat()
    client.send(chat, "please")
    model.wait_requests(1)

    world.restart()
    model.wait_requests(2)
    world.restart()

    assert reason(world, chat) == "model_interrupted"
    assert len(model.requests("chat")) == 2
    panel = Panel(world.client())
    assert panel.grant(panel.wait_held(chat)).status == 200
    assert ended(world, chat) == "completed"


def test_mode_off_ends_the_turn_and_the_model_knows_what_is_unknown(world, model, gate):
    model.script(use("effect", arg="a", gate=str(gate)), answer("I see"))
    client = configured(world, on_restart="off")
    chat = begin_effect(world)
    before = len(model.requests("chat"))

    world.restart()

    assert ended(world, chat) == "stopped"
    assert Panel(client).needs_you() == []
    assert len(model.requests("chat")) == before
    assert client.say(chat, "and now?") == "I see"
    prompt = model.requests("chat")[-1].prompt
    assert prompt.count("unknown whether") == prompt.count("is not continued") == 1
    assert prompt.count("please") == 1
    assert world.effects() == ["start a"]


def test_mode_off_keeps_what_was_saved_and_says_it_once_over_several_restarts(world, model, gate):
    model.script(use("effect", arg="a", value="FIRST-RESULT"), use("effect", arg="b", gate=str(gate)), answer("I see"))
    client = configured(world, on_restart="off")
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: "start b" in world.effects(), what="the second effect")

    world.restart()
    world.restart()

    assert client.say(chat, "and now?") == "I see"
    prompt = model.requests("chat")[-1].prompt
    assert prompt.count("is not continued") == 1
    assert "FIRST-RESULT" in prompt
    assert world.effects() == ["start a", "end a", "start b"]


@pytest.mark.parametrize(
    ("decision", "effects"),
    [("confirmed_completed", ["start a"]), ("confirmed_not_completed", ["start a", "start a"])],
)
def test_mode_live_unknown_hold_waits_in_the_same_turn(world, model, decision, effects):
    model.script(use("effect", arg="a", before="connection"), answer("all done"))
    client = configured(world, live_unknown="hold")
    chat = client.create_chat()
    client.send(chat, "please")
    panel = Panel(client)
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "outcome_unknown"
    assert "ConnectionError" in detail["run"]["reason"]["text"]
    assert len(model.requests("chat")) == 1

    assert panel.decide(detail, decision, "looked outside").status == 200

    if decision == "confirmed_not_completed":  # it ran again, and ended as before: a person is asked again
        client.wait(lambda: world.effects() == effects, what="the second attempt")
        panel.decide(panel.wait_held(chat), "confirmed_completed", "looked outside")
    assert ended(world, chat) == "completed"
    assert world.effects() == effects
    assert len(model.requests("chat")) == 2


def test_mode_live_unknown_hold_outlives_a_kill(world, model):
    model.script(use("effect", arg="a", before="connection"), answer("all done"))
    client = configured(world, live_unknown="hold")
    chat = client.create_chat()
    client.send(chat, "please")
    panel = Panel(client)
    panel.wait_held(chat)

    world.restart()
    panel.decide(panel.wait_held(chat), "confirmed_completed", "looked outside")

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a"]


def test_a_changed_mode_counts_for_new_runs_only(world, model, gate):
    script_effect(model, gate)
    client = configured(world, interrupted_tool_call="report")
    chat = begin_effect(world)
    client.configure({"interrupted_tool_call": "hold"})
    other = begin_effect(world, "please, too")

    world.restart()

    assert ended(world, chat) == "completed"
    assert reason(world, other) == "outcome_unknown"


def test_the_mode_of_a_project_counts_for_its_chats_and_the_rest_is_as_for_all(world, model, gate):
    script_effect(model, gate)
    client = configured(world, on_restart="ask")
    assert client.configure({"interrupted_tool_call": "report"}, project="careless").status == 200
    chat = client.create_chat()
    client.activate_project(chat, "careless")
    client.send(chat, "please")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    world.restart()
    panel = Panel(world.client())
    detail = panel.wait_held(chat)

    assert detail["run"]["reason"]["code"] == "ask"
    resume = next(d for d in detail["decisions"] if d["id"] == "resume")
    assert "The model is told that the step without result may have happened." in resume["preview"]
    panel.decide(detail, "resume")
    assert ended(world, chat) == "completed"
    assert model.requests("chat")[-1].prompt.count(REPORT) == 1


def test_a_mode_that_does_not_exist_is_refused_when_it_is_saved(world, model):
    world.start()

    reply = world.client().configure({"on_restart": "maybe"})

    assert reply.status == 500
    assert "on_restart must be auto, ask or off." in reply.text


@pytest.mark.parametrize("broken", [json.dumps({"interrupted_tool_call": "maybe", "on_restart": "ask"}), "{ no settings"])
def test_a_mode_written_wrongly_by_hand_is_said_in_the_chat_and_the_default_holds(world, model, gate, broken):
    script_effect(model, gate)
    world.start()
    (world.plugin_folder / "config.json").write_text(broken)
    chat = begin_effect(world)
    warnings = [item["content"] for item in world.client().logs(chat) if item["type"] == "warning"]

    world.restart()

    word = "interrupted_tool_call must be hold or report. hold is used." if "maybe" in broken else "The saved settings cannot be read."
    assert [word in text for text in warnings] == [True]
    detail = Panel(world.client()).wait_held(chat)
    assert detail["run"]["reason"]["code"] == ("ask" if "ask" in broken else "outcome_unknown")
    assert not next(d for d in detail["decisions"] if d["id"] == "resume")["allowed"]
