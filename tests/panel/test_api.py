"""The handlers over HTTP: fields, sizes, one table of statuses, and no word of a fault."""

from __future__ import annotations

import ast
import http.cookiejar
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refhost.client import Client, Reply
from refhost.world import World
from tests.panel.support.stand_in import CHECKOUT, build

CALLS = {
    "status": {},
    "recovery_list": {"tab": "needs_you"},
    "recovery_run": {"run_id": "run_push"},
    "recovery_decide": {
        "run_id": "run_push",
        "version": 12,
        "call_id": "call_4",
        "shown_digest": "d",
        "decision": "confirmed_completed",
        "note": "Seen.",
        "request_id": "q",
    },
    "recovery_grant": {"run_id": "run_report", "version": 7, "call_id": "call_3", "attempts": 1, "request_id": "q"},
    "recovery_restore": {"run_id": "run_moved", "version": 5, "selection": "7", "shown_digest": "d", "ack": True, "request_id": "q"},
    "recovery_stop": {"run_id": "run_push", "request_id": "q"},
    "message_settle": {"action": "send", "run_id": "run_push", "version": 12, "input_id": "m"},
    "suspend": {"action": "suspend"},
    "safety": {},
    "doctor": {"start": True},
    "backup_make": {},
    "backup_verify": {"name": "20261128T090000Z-b1b1b1"},
    "backup_restore": {"name": "20261128T090000Z-b1b1b1", "ack": True},
}


@dataclass(frozen=True)
class Raw:
    status: int
    headers: Mapping[str, str]
    json: Any


def send_raw(world: World, body: Any, name: str, *, token: bool = True) -> Raw:
    """A body exactly as it is; the client sends only JSON of its own."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    headers = {"Origin": world.url, "Content-Type": "application/json"}
    with browser.open(urllib.request.Request(f"{world.url}/api/csrf_token", headers=headers)) as answer:
        csrf = json.load(answer)["token"]
    if token:
        headers["X-CSRF-Token"] = csrf
    request = urllib.request.Request(f"{world.url}/api/plugins/durable_execution/{name}", body, headers)
    try:
        answer = browser.open(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        is_json = answer.headers.get_content_type() == "application/json"
        return Raw(answer.status, answer.headers, json.load(answer) if is_json else None)


class Api:
    def __init__(self, client: Client) -> None:
        self.client = client

    def ask(self, name: str, body: Any) -> Reply:
        return self.client.ask(f"plugins/durable_execution/{name}", body)

    def stage(self, do: str, **what: Any) -> list[list[Any]]:
        asked: list[list[Any]] = self.client.call("plugins/durable_execution/stage", {"do": do, **what})["asked"]
        return asked


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("api")
    with World(folder / "world", plugin=build(folder / "plugin")).start() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    api = Api(world.client())
    api.stage("scene", views=["push", "report", "two_unknown", "finished", "moved_on"])
    return api


def statuses() -> dict[str, int]:
    tree = ast.parse((CHECKOUT / "bridge" / "web.py").read_text("utf-8"))
    table = next(node for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "STATUS")
    assert table.value is not None
    found: dict[str, int] = ast.literal_eval(table.value)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_good_request_is_answered(api: Api, name: str) -> None:
    reply = api.ask(name, CALLS[name])

    assert reply.status == 200
    assert isinstance(reply.json, dict)


def test_what_the_service_gets_is_what_was_sent_and_where_it_came_from(api: Api) -> None:
    api.ask("recovery_decide", CALLS["recovery_decide"])

    ((name, body),) = api.stage("look")
    assert name == "recovery_decide"
    assert body == {**CALLS["recovery_decide"], "ack": False, "result_text": None, "origin": "panel 127.0.0.1"}


@pytest.mark.parametrize("name", [name for name in CALLS if name != "status"])
def test_while_the_plugin_is_off_every_call_says_so(api: Api, name: str) -> None:
    api.stage("scene", off={"code": "off", "files": [], "text": ""})

    reply = api.ask(name, CALLS[name])

    assert (reply.status, reply.json["code"]) == (503, "not_active")


def test_while_the_plugin_is_off_the_status_says_why(api: Api) -> None:
    api.stage("scene", off={"code": "host_changed", "files": ["agent.py"], "text": ""})

    reply = api.ask("status", {})

    assert reply.status == 200
    assert reply.json["active"] is False
    assert reply.json["why_not"]["files"] == ["agent.py"]


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("recovery_list", "tab", "documents"),
        ("recovery_list", "cursor", 7),
        ("recovery_list", "cursor", "c" * 201),
        ("recovery_run", "run_id", None),
        ("recovery_run", "run_id", " "),
        ("recovery_run", "run_id", ["run_push"]),
        ("recovery_decide", "version", "12"),
        ("recovery_decide", "version", True),
        ("recovery_decide", "version", 12.5),
        ("recovery_decide", "version", -1),
        ("recovery_decide", "decision", "retry"),
        ("recovery_decide", "decision", None),
        ("recovery_decide", "note", "n" * 2001),
        ("recovery_decide", "ack", "yes"),
        ("recovery_decide", "result_text", "r" * (64 * 1024 + 1)),
        ("recovery_decide", "shown_digest", "d" * 65),
        ("recovery_decide", "request_id", ""),
        ("recovery_list", "query", "q" * 201),
        ("recovery_stop", "request_id", None),
        ("message_settle", "action", "keep"),
        ("message_settle", "version", None),
        ("suspend", "action", "stop"),
        ("doctor", "start", "yes"),
        ("backup_verify", "name", ""),
        ("backup_restore", "ack", "yes"),
        ("recovery_grant", "attempts", 0),
        ("recovery_grant", "attempts", 4),
        ("recovery_grant", "call_id", None),
    ],
)
def test_a_wrong_field_is_named_and_never_reaches_the_service(api: Api, name: str, field: str, value: Any) -> None:
    reply = api.ask(name, {**CALLS[name], field: value})

    assert (reply.status, reply.json["code"], reply.json["field"]) == (400, "malformed", field)
    assert api.stage("look") == []


@pytest.mark.parametrize("body", [[], ["run_push"], "run_push", 7], ids=repr)
def test_a_body_that_is_no_object_is_malformed(api: Api, body: Any) -> None:
    reply = api.ask("recovery_run", body)

    assert (reply.status, reply.json["code"]) == (400, "malformed")


def test_broken_json_is_malformed(api: Api, world: World) -> None:
    reply = send_raw(world, b'{"run_id": ', "recovery_run")

    assert (reply.status, reply.json["code"]) == (400, "malformed")


@pytest.mark.parametrize(
    "body", [iter([b'{"action": "resume"}']), b'{"action": "resume"', b"action=resume"], ids=["in pieces", "cut off", "a form"]
)
def test_a_body_that_the_host_does_not_read_is_not_taken_for_an_empty_one(api: Api, world: World, body: Any) -> None:
    reply = send_raw(world, body, "suspend")

    assert (reply.status, reply.json["code"]) == (400, "malformed")
    assert api.stage("look") == []


def test_a_body_without_a_length_is_refused_whatever_its_size(api: Api, world: World) -> None:
    body = json.dumps({**CALLS["recovery_decide"], "more": "x" * 600_000}).encode()

    reply = send_raw(world, iter([body]), "recovery_decide")

    assert (reply.status, reply.json["code"]) == (400, "malformed")
    assert api.stage("look") == []


def test_a_body_that_is_too_large_is_refused_before_it_is_parsed(api: Api, world: World) -> None:
    body = json.dumps({**CALLS["recovery_decide"], "more": "x" * 600_000}).encode()

    reply = send_raw(world, body, "recovery_decide")

    assert (reply.status, reply.json["code"]) == (400, "malformed")
    assert api.stage("look") == []


def test_fields_that_are_not_ours_are_ignored(api: Api) -> None:
    assert api.ask("recovery_run", {"run_id": "run_push", "api_key": "x"}).status == 200


@pytest.mark.parametrize(("code", "status"), statuses().items(), ids=lambda value: str(value))
def test_every_code_has_its_status(api: Api, code: str, status: int) -> None:
    api.stage("fail", call="recovery_decide", code=code, text="A sentence.")

    reply = api.ask("recovery_decide", CALLS["recovery_decide"])

    shown = {"document_conflict": "conflict"}.get(code, code)
    assert (reply.status, reply.json["code"], reply.json["text"]) == (status, shown, "A sentence.")
    assert ("run" in reply.json) == (status == 409)


def test_every_code_of_the_journal_is_in_the_table() -> None:
    from journal import errors

    families = {errors.JournalError, errors.Refused, errors.Conflict, errors.Corrupt, errors.Unavailable}
    of_programs = {errors.NotRecordable, errors.StepInside, errors.Failed, errors.StepFailed, errors.TurnFailed}  # no route runs a step
    codes = {thing.code for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, errors.JournalError)}

    assert codes - {each.code for each in families | of_programs} <= set(statuses())


def test_a_conflict_brings_the_run_as_it_stands_now(api: Api) -> None:
    api.stage("elsewhere", run_id="run_push", choice="confirmed_completed")

    reply = api.ask("recovery_decide", CALLS["recovery_decide"])

    assert (reply.status, reply.json["code"]) == (409, "stale_version")
    assert reply.json["run"]["version"] == 13


def test_a_conflict_about_a_run_that_cannot_be_read_is_still_a_conflict(api: Api) -> None:
    api.stage("fail", call="recovery_decide", code="stale_version", text="Stale.")
    api.stage("fail", call="recovery_run", code="record_corrupt", text="Corrupt.")

    reply = api.ask("recovery_decide", CALLS["recovery_decide"])

    assert (reply.status, reply.json["run"]) == (409, None)


def test_a_refusal_says_which_field_and_why(api: Api) -> None:
    api.stage("fail", call="recovery_decide", code="not_allowed", text="Not on offer.", facts={"why": "Step 4 is still unknown."})

    reply = api.ask("recovery_decide", CALLS["recovery_decide"])

    assert reply.status == 422
    assert reply.json == {"code": "not_allowed", "field": "decision", "text": "Step 4 is still unknown."}


def test_a_fault_has_a_reference_that_stands_in_the_log_and_nothing_else(api: Api, world: World) -> None:
    for _ in range(2):
        api.stage("fail", call="recovery_run", code="internal", text="the secret hunter2")
        reply = api.ask("recovery_run", {"run_id": "run_push"})

    assert (reply.status, reply.json["code"]) == (500, "internal")
    assert "hunter2" not in reply.text
    assert "Traceback" not in reply.text
    log = world.output()
    assert log.count(f"reference {reply.json['ref']}") == 2
    assert "hunter2" not in log


def test_answers_are_never_kept_by_a_browser(api: Api, world: World) -> None:
    assert send_raw(world, b"{}", "status").headers["Cache-Control"] == "no-store"


def test_without_the_token_of_the_page_nothing_is_answered(api: Api, world: World) -> None:
    reply = send_raw(world, json.dumps(CALLS["recovery_run"]).encode(), "recovery_run", token=False)

    assert reply.status == 403
    assert api.stage("look") == []


def test_api_files_are_thin_and_named_after_their_call() -> None:
    for path in sorted(Path(CHECKOUT / "api").glob("*.py")):
        if path.stem.startswith(("status", "recovery_")):
            assert len(path.read_text("utf-8").splitlines()) <= 35, path.name
            assert path.stem in CALLS
