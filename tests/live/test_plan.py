"""The plan on the real host: its prompt, its tool, kills around its write, a person at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .client import Client
from .host import LiveHost
from .model import ScriptedModel, say, tool_call
from .recovery import Recovery

DIES = Path(__file__).parent / "inject" / "die_at_write.py"


def value(*names: str) -> dict[str, Any]:
    return {"title": "Publish the site", "items": [{"id": name, "text": f"do {name}", "done": False} for name in names]}


def replace(expected: int, *names: str) -> str:
    return tool_call("durable_plan", {"action": "replace", "expected_revision": expected, "value": value(*names)})


def read(client: Client, chat: str) -> dict[str, Any]:
    return dict(client.plugin("document_read", {"chat_id": chat}).ok())


def test_the_agent_has_a_plan_that_a_person_sees(client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    chat = client.new_chat()
    model.script(tool_call("durable_plan", {"action": "read"}), replace(0, "build", "upload"), say("Planned."))

    assert client.ask(chat, "Plan it") == "Planned."

    system = "\n".join(str(m["content"]) for m in model.main[0].messages if m["role"] == "system")
    assert system.count("### durable_plan") == 1
    assert "Never repeat an external action to repair a plan conflict" in system
    assert model.main[1].count('"revision": 0') + model.main[1].count('\\"revision\\": 0') == 1
    assert model.main[2].count("saved as revision 1") == 1
    document = read(client, chat)["document"]
    assert (document["revision"], document["written_by"], document["value"]) == (1, "agent", value("build", "upload"))
    assert [item["chat_id"] for item in client.plugin("documents_list").ok()["items"]][:1] == [chat]
    assert client.chats()[chat]["_durable_documents"] == {"plan": {"revision": 1, "conflicts": 0}}
    assert recovery.run(chat)["run"]["state"] == "completed"


def test_a_stale_write_is_a_conflict_and_nothing_is_lost(client: Client, model: ScriptedModel) -> None:
    chat = client.new_chat()
    model.script(replace(0, "a"), say("One."))
    client.ask(chat, "Plan it")
    saved = client.plugin("document_save", {"chat_id": chat, "expected_revision": 1, "value": value("a", "person")})
    model.script(replace(1, "a", "agent"), say("Two."))

    client.ask(chat, "Add to it")

    assert (saved.status, model.main[-1].count("Not saved: revision 1 of the plan")) == (200, 1)
    found = read(client, chat)
    assert found["document"]["value"] == value("a", "person")
    [conflict] = found["conflicts"]
    assert conflict["value"] == value("a", "agent")
    body = {"conflict_id": conflict["conflict_id"], "choice": "merged", "expected_revision": 2, "value": conflict["merged"]}
    assert client.plugin("document_resolve", body).ok()["document"]["value"] == value("a", "agent", "person")
    assert client.plugin("document_save", {"chat_id": chat, "expected_revision": 3, "value": value()}, csrf=False).status == 403


@pytest.mark.parametrize(("moment", "attempts"), [("before", 2), ("after", 1)])
def test_killed_around_its_write_the_plan_is_written_once(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, tmp_path: Path, moment: str, attempts: int
) -> None:
    chat = client.new_chat()
    host.stop()
    host.start(inject=DIES, env={"DIE": moment, "DIED": str(tmp_path / "died")})
    model.script(replace(0, "a"), say("Planned."))
    client.send(chat, "Plan it")
    client.wait("the death of the server", lambda: (tmp_path / "died").exists())
    host.wait_dead()

    host.start()

    recovery.wait_state(chat, "completed")
    calls = [call for call in recovery.run(chat)["calls"] if call["name"] == "durable_plan"]
    assert [(call["status"], call["attempts"]) for call in calls] == [("reused" if moment == "after" else "saved", attempts)]
    found = read(client, chat)
    assert (found["document"]["revision"], found["document"]["value"], found["waiting"]) == (1, value("a"), 0)
    assert model.main[-1].count("saved as revision 1") == 1
    assert recovery.waiting() == []
