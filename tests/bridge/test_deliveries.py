"""Replies through an integration: recorded before and after, never twice, never lost, held when unknown (ADR 0019).

The small host's mails are counted in the outside file. Its integration sends as the host's do: from a task that nobody
waits for, and with every error swallowed into a text.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from refhost.model import answer, use
from refhost.world import World
from tests.support.sampling import thorough
from tests.support.scenes import calls, ended
from tests.support.story import FAULTS, Panel

TO = "ana@example.org"


def fault(world: World, moment: str) -> dict[str, str]:
    return {"FAULT": moment, "FAULT_MARK": str(world.folder / "killed")}


def post(world: World, **settings: Any) -> None:
    """How the next mails end."""
    (world.folder / "plugins" / "_email_integration" / "config.json").write_text(json.dumps(settings), "utf-8")


def mail(world: World, text: str = "please") -> str:
    client = world.client()
    chat = client.create_chat()
    client.mail(chat, text)
    return chat


def deliveries(world: World, chat: str) -> list[dict[str, Any]]:
    return [call for call in calls(world, chat) if call["kind"] == "delivery"]


def update(text: str) -> dict[str, Any]:
    return use("response", text=text, break_loop=False)


def test_a_reply_is_a_call_of_its_own_and_the_run_ends_after_it(world, model):
    model.script(answer("all done"))
    world.start()

    chat = mail(world)

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start reply:all", "end reply:all"]
    assert [(c["kind"], c["name"], c["outcome"]) for c in calls(world, chat)] == [
        ("model", "other/chat", "ok"),
        ("tool", "response", "ok"),
        ("delivery", "email_reply", "ok"),
    ]
    reply = deliveries(world, chat)[0]
    assert reply["summary"] == f"Reply by e-mail to {TO}"
    assert reply["arguments_masked"] == {"to": TO, "via": "e-mail", "text": "all done", "attachments": []}
    assert (reply["status"], reply["result_text"]) == ("saved", "Sent.")


@pytest.mark.parametrize(
    "moment",
    [
        "after:begin_call.tool:1",
        "after:finish_call.delivery:1",
        *thorough("after:finish_call.tool:1", "before:begin_call.delivery:1", "before:close_run:1"),
    ],
)
def test_killed_beside_the_sending_it_is_sent_exactly_once(world, model, moment):
    model.script(answer("all done"))
    world.start(env=fault(world, moment), inject=FAULTS)
    chat = mail(world)
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start reply:all", "end reply:all"]
    assert len(model.requests("chat")) == 1


@pytest.mark.parametrize("decision", ["confirmed_not_completed", "stop", *thorough("confirmed_completed", "new_attempt")])
def test_killed_in_the_sending_it_is_held_and_a_person_decides(world, model, gate, decision):
    model.script(answer("all done"))
    world.start()
    post(world, gate=str(gate))
    chat = mail(world)
    world.client().wait(world.effects, what="the mail to begin")

    world.restart()
    panel = Panel(world.client())
    detail = panel.wait_held(chat)

    assert detail["run"]["reason"]["code"] == "outcome_unknown"
    warning = world.client().wait_log(chat, "warning")["content"]
    assert f"Reply by e-mail to {TO}" in warning
    assert "look whether it arrived" in warning
    assert world.effects() == ["start reply:all"]
    gate.touch()
    assert panel.decide(detail, decision, "Asked Ana.").status == 200
    assert ended(world, chat) == ("stopped" if decision == "stop" else "completed")
    again = ["start reply:all", "end reply:all"] if decision in ("confirmed_not_completed", "new_attempt") else []
    assert world.effects() == ["start reply:all", *again]
    assert len(model.requests("chat")) == 1
    if decision == "stop":
        assert "email_reply" in world.client().history(chat)


@pytest.mark.parametrize("kind", ["timeout", "connection"])
def test_an_error_that_proves_nothing_is_held_also_where_the_host_swallows_it(world, model, kind):
    model.script(answer("all done"), answer("never asked for"))
    world.start()
    post(world, raises=kind)
    chat = mail(world)

    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "outcome_unknown"
    assert world.client().running(chat)  # the turn waits at its reply
    post(world)
    assert panel.decide(detail, "confirmed_completed", "Ana has it.").status == 200

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start reply:all", "end reply:all"]
    assert len(model.requests("chat")) == 1
    assert deliveries(world, chat)[0]["outcome"] == "confirmed"


@pytest.mark.parametrize("moment", ["after:keep_input:1", *thorough("", "after:finish_call.delivery:1")])
def test_a_refusal_is_an_answer_and_the_model_is_told_once(world, model, moment):
    model.script(answer("all done"), answer("second try", gate="mended"))
    world.start(env=fault(world, moment), inject=FAULTS if moment else None)
    post(world, before="refused")
    chat = mail(world)
    if moment:
        world.wait_dead()
        world.start()
    model.wait_requests(2)
    post(world)
    model.release("mended")

    assert ended(world, chat) == "completed"
    world.client().wait_idle(chat)
    asked = model.requests("chat")
    assert len(asked) == 2
    assert asked[1].prompt.count("Your last answer was not sent") == 1
    states = [run["state"] for run in Panel(world.client()).all_runs() if run["chat_id"] == chat]
    assert states == ["completed", "completed"]


def test_updates_in_the_middle_are_replies_and_a_served_step_sends_nothing_again(world, model):
    model.script(update("half way"), use("effect", arg="a"), answer("all done", gate="go"))
    world.start()
    chat = mail(world)
    model.wait_requests(3)
    world.restart()
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    model.script(answer("all done"))
    assert panel.grant(detail).status == 200

    assert ended(world, chat) == "completed"
    mails = [line for line in world.effects() if "reply:" in line]
    assert mails == ["start reply:half", "end reply:half", "start reply:all", "end reply:all"]
    assert model.requests("chat")[-1].prompt.count("The update was sent.") == 1


def test_killed_right_after_an_update_it_is_served_with_its_step(world, model):
    model.script(update("half way"), answer("all done"))
    world.start(env=fault(world, "after:finish_call.delivery:1"), inject=FAULTS)
    chat = mail(world)
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start reply:half", "end reply:half", "start reply:all", "end reply:all"]
    assert model.requests("chat")[-1].prompt.count("The update was sent.") == 1


def test_what_a_reply_takes_along_comes_back_with_the_served_answer(world, model):
    """The attachments stand in the chat's memory between the answer and its mail."""
    model.script(use("response", text="see this", attachments=["/a/file.txt"]))
    world.start(env=fault(world, "after:finish_call.tool:1"), inject=FAULTS)
    chat = mail(world)
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start reply:see+/a/file.txt", "end reply:see+/a/file.txt"]


NOTIFIER = """
import os
from helpers.extension import Extension

class Notifier(Extension):
    async def execute(self, tool_name="", **kwargs):
        handle = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"start told:{tool_name} {os.getpid()}\\n".encode())
        os.close(handle)
"""


def test_another_plugins_hook_does_not_see_the_end_of_a_served_step_again(world, model):
    world.add_plugin("notifier", {"extensions/python/tool_execute_after/_60_notify.py": NOTIFIER})
    model.script(use("effect", arg="a"), answer("all done"))
    world.start(env=fault(world, "before:checkpoint:2"), inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    client.send(chat, "please")
    world.wait_dead()
    assert world.effects() == ["start a", "end a", "start told:effect"]

    world.start()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a", "start told:effect", "start told:response"]


def test_a_chain_that_ends_at_two_levels_sends_its_answer_once(world, model, gate):
    """The host says that a chain ends once for each level, and each time the same mail would go out."""
    model.script(use("call_subordinate", message="help"), answer("helped"), answer("all done"))
    world.add_plugin("twice", {"extensions/python/process_chain_end/_90_twice.py": TWICE})
    world.start()
    chat = mail(world)

    assert ended(world, chat) == "completed"
    assert world.effects().count("start reply:all") == 1
    assert len(deliveries(world, chat)) == 1


TWICE = """
from helpers import extension

class Twice(extension.Extension):
    async def execute(self, **kwargs):
        if not self.agent.data.pop("_twice", False):
            self.agent.data["_twice"] = True
            await extension.call_extensions_async("process_chain_end", agent=self.agent, data={})
"""


def test_a_secret_in_a_reply_is_masked_in_what_is_kept(tmp_path, model):
    with World(tmp_path / "world", model=model, secrets={"TOKEN": "hunter2-hunter2"}) as world:
        model.script(answer("it is §§secret(TOKEN)"))
        world.start()
        chat = mail(world)
        assert ended(world, chat) == "completed"
        assert "hunter2" not in json.dumps(deliveries(world, chat))


def test_without_the_plugin_a_kill_loses_the_reply(tmp_path, model, gate):
    with World(tmp_path / "bare", model=model, plugin=None) as world:
        model.script(answer("all done"))
        world.start()
        post(world, gate=str(gate))
        chat = mail(world)
        world.client().wait(world.effects, what="the mail to begin")
        world.restart()
        gate.touch()
        world.client().wait_idle(chat)
        assert world.effects() == ["start reply:all"]
        assert [item for item in world.client().logs(chat) if item["type"] == "warning"] == []


def test_a_sender_that_changed_since_the_start_is_not_wrapped_and_that_is_said(world, model):
    """The host loads it late: what was compared at the start may be another file by then."""
    model.script(answer("all done"))
    world.start()
    file = world.folder / "plugins" / "_email_integration" / "helpers" / "handler.py"
    file.write_text(f"{file.read_text('utf-8')}\n# changed\n", "utf-8")

    chat = mail(world)

    assert ended(world, chat) == "completed"
    world.client().wait(lambda: "end reply:all" in world.effects(), what="the mail to be sent")
    assert deliveries(world, chat) == []
    assert "plugins._email_integration.helpers.handler.send_email_reply is not what was reviewed" in world.output()


def test_a_nudge_in_the_middle_of_the_sending_holds_and_what_came_of_it_counts(world, model, gate):
    model.script(answer("all done"))
    world.start()
    post(world, gate=str(gate))
    chat = mail(world)
    client, panel = world.client(), Panel(world.client())
    client.wait(world.effects, what="the mail to begin")

    client.nudge(chat)

    assert panel.wait_held(chat)["run"]["reason"]["code"] == "outcome_unknown"
    gate.touch()
    client.wait(lambda: deliveries(world, chat)[0]["outcome"] == "ok", what="the mail's own end")
    assert panel.decide(panel.wait_held(chat), "resume").status == 200
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start reply:all", "end reply:all"]
    assert len(model.requests("chat")) == 1


@pytest.mark.parametrize("moment", ["after:finish_call.delivery:1", *thorough("after:finish_call.model:3", "after:finish_call.delivery:2")])
def test_a_subordinates_update_has_a_place_of_its_own(world, model, moment):
    model.script(use("call_subordinate", message="help"), update("half way"), answer("helped"), answer("all done"))
    world.start(env=fault(world, moment), inject=FAULTS)
    chat = mail(world)
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start reply:half", "end reply:half", "start reply:all", "end reply:all"]
    assert [c["outcome"] for c in deliveries(world, chat)] == ["ok", "ok"]
    assert len(model.requests("chat")) == 4
