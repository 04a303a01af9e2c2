"""A hold holds: nothing slips past it, and each decision does what it says."""

from __future__ import annotations

import pytest

from refhost.model import answer, use
from tests.support.story import Panel

WARNING = "Open Recovery"


@pytest.fixture
def held(world, model, tmp_path):
    """A chat that was killed inside its effect and is held after the restart."""
    gate = tmp_path / "gate"
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("effect", arg="a", gate=str(gate)), repeat=True)
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    world.restart()
    gate.touch()
    Panel(world.client()).wait_held(chat)
    return chat


def ended(world):
    panel = Panel(world.client())
    world.client().wait(lambda: all(r["state"] in ("completed", "stopped", "failed") for r in panel.all_runs()), what="the run to end")
    return [r["state"] for r in panel.all_runs()]


def test_a_held_chat_shows_one_warning_that_names_the_step_and_a_badge(world, model, held):
    client = world.client()

    warnings = [item for item in client.logs(held) if item["type"] == "warning"]
    badge = client.context(held)["_durable_execution"]

    assert len(warnings) == 1
    assert WARNING in warnings[0]["content"]
    assert "effect" in warnings[0]["content"]
    assert badge["state"] == "held"


def test_nothing_slips_past_a_hold(world, model, held):
    client = world.client()
    before = len(model.requests("chat"))

    client.nudge(held)
    client.pause(held, True)
    client.pause(held, False)
    reply = client.say(held, "are you there?")

    assert "on hold" in reply
    assert not client.running(held)
    assert len(model.requests("chat")) == before
    assert world.effects() == ["start a"]
    assert Panel(client).wait_held(held)["run"]["state"] == "held"


def test_other_chats_work_while_one_is_held(world, model, held):
    model.script(answer("other answer"), when="another question")

    assert world.client().say(world.client().create_chat(), "another question") == "other answer"


def test_a_message_to_a_held_chat_is_kept_and_delivered_when_the_run_goes_on(world, model, held):
    client, panel = world.client(), Panel(world.client())
    client.send(held, "one more thing")

    panel.decide(panel.wait_held(held), "confirmed_completed", "seen outside")

    assert ended(world) == ["completed"]
    texts = [str(m["content"]) for m in model.requests("chat")[-1].messages if m["role"] == "user"]
    assert sum(text.count("one more thing") for text in texts) == 1


@pytest.mark.parametrize(
    ("decision", "effects", "state"),
    [
        ("confirmed_completed", ["start a"], "completed"),
        ("confirmed_not_completed", ["start a", "start a", "end a"], "completed"),
        ("new_attempt", ["start a", "start a", "end a"], "completed"),
        ("stop", ["start a"], "stopped"),
    ],
)
def test_each_decision_does_what_it_says(world, model, held, decision, effects, state):
    panel = Panel(world.client())

    reply = panel.decide(panel.wait_held(held), decision, "looked outside")

    assert reply.status == 200, reply.text
    assert ended(world) == [state]
    assert world.effects() == effects
    assert "_durable_execution" not in world.client().context(held)


def test_after_a_stop_the_chat_is_usable_and_the_model_knows_what_is_unknown(world, model, held):
    panel = Panel(world.client())
    panel.decide(panel.wait_held(held), "stop")
    ended(world)
    model.script(answer("I see"), when="and now?")

    assert world.client().say(held, "and now?") == "I see"

    prompt = model.requests("chat")[-1].prompt
    assert "unknown whether" in prompt
    assert prompt.count("please") == 1
    assert world.effects() == ["start a"]


def test_a_stale_version_and_a_wrong_digest_change_nothing(world, model, held):
    panel = Panel(world.client())
    detail = panel.wait_held(held)

    stale = panel.decide(detail, "confirmed_completed", "x", version=detail["run"]["version"] - 1)
    other = panel.decide(detail, "confirmed_completed", "x", shown_digest="0" * 64)
    noteless = panel.decide(detail, "confirmed_completed", "  ")

    assert (stale.status, stale.json["code"]) == (409, "stale_version")
    assert (other.status, other.json["code"]) == (409, "shown_changed")
    assert (noteless.status, noteless.json["code"]) == (422, "note_missing")
    assert panel.wait_held(held)["run"]["version"] == detail["run"]["version"]


def test_the_same_request_twice_is_one_decision(world, model, held):
    panel = Panel(world.client())
    detail = panel.wait_held(held)

    first = panel.decide(detail, "confirmed_not_completed", "looked", request_id="one-click")
    again = panel.decide(detail, "confirmed_not_completed", "looked", request_id="one-click")

    assert (first.status, again.status) == (200, 200)
    assert ended(world) == ["completed"]
    assert world.effects() == ["start a", "start a", "end a"]


@pytest.mark.parametrize("action", ["reset", "remove"])
def test_reset_and_deletion_count_as_stop_and_stay_after_a_restart(world, model, held, action):
    getattr(world.client(), action)(held)

    world.restart()

    assert [r["state"] for r in Panel(world.client()).all_runs()] == ["stopped"]
    context = world.client().context(held)
    assert context is None if action == "remove" else not any(i["type"] == "user" for i in world.client().logs(held))


def test_nudge_in_a_running_tool_holds_the_run(world, model, tmp_path):
    model.script(use("effect", arg="a", gate=str(tmp_path / "never")), answer("never"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")

    client.nudge(chat)

    assert Panel(client).wait_held(chat)["run"]["reason"]["code"] == "outcome_unknown"
    assert len(model.requests("chat")) == 1
    client.wait_idle(chat)


def test_nudge_in_a_model_call_goes_on_with_the_same_run(world, model):
    model.script(answer("too slow", gate="never", gate_at=5), answer("after the nudge"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    model.wait_requests(1)

    client.nudge(chat)
    client.wait_log(chat, type="response", text="after the nudge")

    assert ended(world) == ["completed"]
    assert len(Panel(client).all_runs()) == 1
    assert len(model.requests("chat")) == 2


def test_an_open_tab_redraws_since_a_rebuilt_chat_has_a_new_log(world, model, held):
    first = world.client().context(held)["log_guid"]

    world.restart()
    Panel(world.client()).wait_held(held)

    assert world.client().context(held)["log_guid"] != first
