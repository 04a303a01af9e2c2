"""The plan in a running host: the agent's tool, kills around its write, a person at the same time, the API."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from journal.documents import Writer
from journal.masking import Masker
from journal.service import Journal
from refhost.client import Client
from refhost.model import answer, use
from refhost.world import World
from tests.support.scenes import ended
from tests.support.story import API, FAULTS, Panel

TITLE = "Publish the site"


def value(*names: str, done: bool = False) -> dict[str, Any]:
    return {"title": TITLE, "items": [{"id": name, "text": f"do {name}", "done": done} for name in names]}


def replace(expected: Any, *names: str) -> dict[str, Any]:
    return use("durable_plan", action="replace", expected_revision=expected, value=value(*names))


def read(client: Client, chat: str) -> dict[str, Any]:
    return client.call(API + "document_read", {"chat_id": chat})


def save(client: Client, chat: str, expected: int, *names: str) -> Any:
    return client.ask(API + "document_save", {"chat_id": chat, "expected_revision": expected, "value": value(*names)})


def told(model, number: int = -1) -> str:
    """What the model saw last."""
    return str(model.requests("chat")[number].messages[-1]["content"])


def calls(world: World, chat: str) -> list[dict[str, Any]]:
    panel = Panel(world.client())
    return [call for run in panel.all_runs() if run["chat_id"] == chat for call in panel.run(run["run_id"])["calls"]]


def test_the_agent_reads_and_replaces_its_plan(world, model):
    model.script(
        use("durable_plan", action="read"),
        replace(0, "build", "upload"),
        replace("1", "upload"),
        use("durable_plan", action="read"),
        answer("done"),
    )
    client = world.start().client()
    chat = client.create_chat()

    assert client.say(chat, "please") == "done"

    shown = [told(model, n) for n in range(5)]
    assert '\\"revision\\": 0' in shown[1] or '"revision": 0' in shown[1]
    assert "saved as revision 1" in shown[2]
    assert "saved as revision 2" in shown[3]
    assert "do upload" in shown[4]
    document = read(client, chat)["document"]
    assert (document["revision"], document["value"], document["written_by"]) == (2, value("upload"), "agent")
    assert client.context(chat)["_durable_documents"] == {"plan": {"revision": 2, "conflicts": 0}}
    assert "_durable_documents" not in (world.chat_file(chat) or {}).get("output_data", {})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "no action"),
        ({"action": "replace", "value": value("a")}, "expected_revision"),
        ({"action": "replace", "expected_revision": 0}, "value: It is nothing"),
        ({"action": "replace", "expected_revision": 0, "value": {"title": "t", "items": [{"id": "a"}]}}, "items[0].done"),
        ({"action": "replace", "expected_revision": 0, "value": value(*map(str, range(101)))}, "At most 100 items"),
    ],
)
def test_what_is_no_plan_is_refused_and_the_model_is_told_what_is_allowed(world, model, arguments, words):
    model.script(use("durable_plan", **arguments), answer("done"))
    client = world.start().client()
    chat = client.create_chat()

    client.say(chat, "please")

    assert words in told(model)
    assert read(client, chat)["document"]["revision"] == 0


@pytest.mark.parametrize(
    ("moment", "attempts"),
    [
        ("before:begin_call.tool:1", 1),
        ("after:begin_call.tool:1", 2),
        ("before:finish_writing:1", 2),
        ("after:finish_writing:1", 1),
    ],
)
def test_killed_around_its_write_the_plan_is_written_once_and_nobody_is_asked(world, model, moment, attempts):
    model.script(replace(0, "a"), when="please")
    model.script(answer("done"), when="saved as revision 1", repeat=True)
    mark = world.folder / "mark"
    world.start(env={"FAULT": moment, "FAULT_MARK": str(mark)}, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "please")
    world.wait_dead()

    world.start()

    assert ended(world, chat) == "completed"
    found = read(world.client(), chat)
    assert (found["document"]["revision"], found["document"]["value"], found["waiting"]) == (1, value("a"), 0)
    assert [call["attempts"] for call in calls(world, chat) if call["name"] == "durable_plan"] == [attempts]
    assert "saved as revision 1" in told(model)


def test_a_person_who_was_faster_makes_a_conflict_and_nothing_is_lost(world, model):
    model.script(replace(0, "a"), answer("done", gate="go"), replace(1, "a", "agent"), answer("sorry"))
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "please")
    client.wait(lambda: read(client, chat)["document"]["revision"] == 1, what="the first revision")
    assert save(client, chat, 1, "a", "person").status == 200
    model.release("go")
    client.wait_idle(chat)

    assert client.say(chat, "again") == "sorry"

    assert "Not saved: revision 1 of the plan is not the newest" in told(model)
    assert "repeat no external action" in told(model)
    found = read(client, chat)
    assert found["document"]["value"] == value("a", "person")
    [conflict] = found["conflicts"]
    assert (conflict["base"], conflict["found"], conflict["written_by"], conflict["stored_by"]) == (1, 2, "agent", "you")
    assert conflict["value"] == value("a", "agent")
    assert conflict["merged"] == value("a", "agent", "person")
    assert client.context(chat)["_durable_documents"] == {"plan": {"revision": 2, "conflicts": 1}}
    assert [call["status"] for call in calls(world, chat) if call["name"] == "durable_plan"] == ["saved", "saved"]


def test_what_a_person_wrote_between_the_kill_and_the_replay_stays(world, model):
    """The replay names the revision that it began with, so the agent's version is kept beside it."""
    model.script(replace(0, "agent"), when="please")
    model.script(answer("done"), when="Not saved", repeat=True)
    world.start(env={"FAULT": "after:begin_call.tool:1", "FAULT_MARK": str(world.folder / "mark")}, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "please")
    world.wait_dead()
    journal = Journal.open(world.data_folder, masker=Masker(list), boot={})
    journal.save_document(journal.draft(chat, "plan", 0, value("person"), Writer.PERSON)).result()
    journal.close()

    world.start()

    assert ended(world, chat) == "completed"
    found = read(world.client(), chat)
    assert found["document"]["value"] == value("person")
    assert [conflict["value"] for conflict in found["conflicts"]] == [value("agent")]


def test_the_tool_says_so_while_the_plugin_is_not_active_and_is_not_there_while_it_is_off(world, model):
    model.script(use("durable_plan", action="read"), answer("no plan"), use("durable_plan", action="read"), answer("no tool"))
    host_file = world.folder / "helpers/strings.py"
    host_file.write_text("X = 1\n")
    world.write_pins()
    host_file.write_text("X = 2\n")
    client = world.start().client()
    chat = client.create_chat()

    assert client.say(chat, "please") == "no plan"
    assert "Durable Execution is not active" in told(model)
    client.toggle(False)
    assert client.say(chat, "please") == "no tool"
    assert "not active" not in told(model)


def test_open_pages_hear_of_the_plan_after_a_restart_and_not_while_it_is_off(world, model):
    client = world.start().client()
    chat, other = client.create_chat(), client.create_chat()
    model.script(answer("hello"), answer("hello"))
    for each in (chat, other):
        client.say(each, "please")
    save(client, chat, 0, "a")
    client.wait_idle(chat)
    client.wait_idle(other)

    client = world.restart().client()

    assert client.context(chat)["_durable_documents"] == {"plan": {"revision": 1, "conflicts": 0}}
    assert "_durable_documents" not in client.context(other)
    client.toggle(False)
    assert "_durable_documents" not in client.context(chat)
    client.toggle(True)
    assert client.context(chat)["_durable_documents"] == {"plan": {"revision": 1, "conflicts": 0}}


INNER = """
from helpers import tool

class Inner(tool.Tool):
    async def execute(self, **kwargs):
        plan = self.agent.get_tool("durable_plan", None, {}, "", None)
        said = [(await plan.execute(action="replace", expected_revision=0, value=kwargs["value"])).message for _ in range(2)]
        return tool.Response(message="I had it written: " + " | ".join(said), break_loop=False)
"""


def test_a_plan_that_another_tool_has_written_is_no_part_of_its_result(world, model):
    world.add_plugin("inner", {"tools/inner.py": INNER})
    model.script(use("inner", value=value("a")), answer("done"))
    client = world.start().client()
    chat = client.create_chat()

    client.say(chat, "please")

    assert told(model).count("saved as revision 1") == 2
    assert "I had it written" in told(model)
    assert (read(client, chat)["document"]["revision"], read(client, chat)["waiting"]) == (1, 0)


# -- the API ------------------------------------------------------------------------------------


@pytest.fixture
def plan(world, model):
    """A chat with a plan at revision 1."""
    client = world.start().client()
    chat = client.create_chat()
    assert save(client, chat, 0, "a").status == 200
    return client, chat


def test_a_person_saves_and_a_stale_save_is_409_with_what_is_stored(plan):
    client, chat = plan
    assert save(client, chat, 1, "a", "b").json["document"]["revision"] == 2

    late = save(client, chat, 1, "mine")

    assert late.status == 409
    assert (late.json["code"], late.json["stored"]["revision"], late.json["stored"]["value"]) == ("conflict", 2, value("a", "b"))
    assert read(client, chat)["conflicts"][0]["conflict_id"] == late.json["conflict_id"]
    listing = client.call(API + "documents_list")
    assert [(i["title"], i["revision"], i["written_by"], i["conflicts"], i["chat_exists"]) for i in listing["items"]] == [
        (TITLE, 2, "you", 1, True)
    ]
    assert listing["counts"] == {"documents": 1, "in_conflict": 1, "conflicts": 1}


@pytest.mark.parametrize("choice", ["keep_stored", "use_mine", "merged"])
def test_a_person_resolves_a_conflict_and_nothing_runs(plan, model, choice):
    client, chat = plan
    save(client, chat, 1, "stored")
    conflict_id = save(client, chat, 1, "mine").json["conflict_id"]
    body = {"conflict_id": conflict_id, "choice": choice, "expected_revision": 2, "value": value("both")}

    stale = client.ask(API + "document_resolve", {**body, "expected_revision": 1})
    done = client.ask(API + "document_resolve", body)
    again = client.ask(API + "document_resolve", body)

    assert (stale.status, stale.json["code"], stale.json["stored"]["revision"]) == (409, "conflict", 2)
    wanted = {"keep_stored": (2, value("stored")), "use_mine": (3, value("mine")), "merged": (3, value("both"))}[choice]
    assert (done.json["document"]["revision"], done.json["document"]["value"], done.json["waiting"]) == (*wanted, 0)
    assert (again.status, again.json["code"]) == (409, "conflict_settled")
    assert client.context(chat)["_durable_documents"] == {"plan": {"revision": wanted[0], "conflicts": 0}}
    assert model.requests("chat") == []


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        ("document_save", {"chat_id": "nowhere", "expected_revision": 0, "value": value("a")}, 404, "unknown_document"),
        ("document_save", {"chat_id": "CHAT", "expected_revision": 0, "value": []}, 400, "malformed"),
        ("document_save", {"chat_id": "CHAT", "expected_revision": "1", "value": value("a")}, 400, "malformed"),
        ("document_save", {"chat_id": "CHAT", "expected_revision": 1, "value": {"title": "x"}}, 422, "does_not_fit"),
        ("document_save", {"chat_id": "CHAT", "kind": "poem", "expected_revision": 1, "value": {}}, 404, "unknown_document"),
        ("document_read", {}, 404, "unknown_document"),
        ("document_read", {"chat_id": "CHAT", "kind": "poem"}, 404, "unknown_document"),
        ("document_read", {"document_id": "none"}, 404, "unknown_document"),
        ("document_resolve", {"conflict_id": "none", "choice": "use_mine", "expected_revision": 1}, 404, "unknown_conflict"),
        ("document_resolve", {"conflict_id": "none", "choice": "resume", "expected_revision": 1}, 400, "malformed"),
    ],
)
def test_what_cannot_be_done_has_a_code_and_changes_nothing(plan, name, body, status, code):
    client, chat = plan

    reply = client.ask(API + name, {key: chat if item == "CHAT" else item for key, item in body.items()})

    assert (reply.status, reply.json["code"]) == (status, code)
    assert read(client, chat)["document"]["revision"] == 1


def test_a_save_without_a_token_is_refused(plan, world):
    client, chat = plan
    stranger = Client(world.url)
    stranger._token = "wrong"

    body = {"chat_id": chat, "expected_revision": 1, "value": value("x")}
    assert stranger._post(API + "document_save", body, 60).status == 403
    assert read(client, chat)["document"]["revision"] == 1


def test_a_secret_in_a_plan_is_hidden_everywhere(tmp_path, model):
    with World(tmp_path / "secret", model=model, secrets={"STORE_KEY": "canary-secret-value"}) as world:
        client = world.start().client()
        chat = client.create_chat()
        save(client, chat, 0, "canary-secret-value")

        assert "canary-secret" not in client.ask(API + "document_read", {"chat_id": chat}).text
        assert all(b"canary-secret" not in path.read_bytes() for path in world.data_folder.rglob("*") if path.is_file())
