"""I8, with canaries: whatever goes in through any door, no known secret is in any file of the journal or any answer."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from journal.records import Choice, HoldReason, Outcome, ResumePoint, RunState
from journal.trees import Pack
from tests.store.worlds import World, tool

CANARY = 'canary/k"e\\y?ü&=%1'
HOSTS = "hosts-own+canary=42"
FORMS = {
    "verbatim": CANARY,
    "JSON": json.dumps(CANARY)[1:-1],
    "JSON, not ASCII": json.dumps(CANARY, ensure_ascii=False)[1:-1],
    "URL": quote(CANARY, safe=""),
    "URL, slashes kept": quote(CANARY),
    "form": quote_plus(CANARY),
    "URL, lower case": quote(CANARY, safe="")
    .replace("%2F", "%2f")
    .replace("%5C", "%5c")
    .replace("%3F", "%3f")
    .replace("%C3%BC", "%c3%bc")
    .replace("%3D", "%3d"),
    "shell": shlex.quote(CANARY + "'")[:-6],
    "hex": CANARY.encode().hex(),
    "hex, colons": CANARY.encode().hex(":").upper(),
    "hex, \\x": "".join(f"\\x{byte:02x}" for byte in CANARY.encode()),
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64, second place": base64.b64encode(b"-" + CANARY.encode() + b"-").decode(),
    "base64, third place": base64.urlsafe_b64encode(b"--" + CANARY.encode() + b"--").decode().rstrip("="),
    "base64, wrapped": base64.encodebytes(bytes(50) + CANARY.encode()).decode(),
    "wrapped": f"{CANARY[:9]}\n    {CANARY[9:]}",
    "wrapped in JSON": f"{CANARY[:9]}\\r\\n{CANARY[9:]}",
    "of the host": HOSTS,
    "of the host, wrapped": f"{HOSTS[:9]}\r\n{HOSTS[9:]}",
    "of the host, base64": base64.b64encode(b"-" + HOSTS.encode()).decode(),
    "of the host, URL": quote(HOSTS, safe=""),
}


class Talkative(Exception):
    """An error that says too much."""


def places(leak: str) -> Iterator[Any]:
    yield from (leak, [leak], {"deep": {f"k {leak}": [leak]}}, leak.encode(), {leak}, Talkative(leak), (leak, {1: leak}), f"{leak * 3}")


@pytest.fixture
def told(world: World) -> World:
    world.hide("CANARY", CANARY)
    world.hide("HOSTS", HOSTS, "§§secret(HOSTS)")
    return world


def through_every_door(world: World, leak: str) -> list[Any]:
    """Put a text through every door that takes one; answers everything that came back."""
    journal = world.journal
    answers: list[Any] = []
    pack = Pack(world.masker, set())
    point = ResumePoint(pack.put({"history": pack.list([pack.put(place) for place in places(leak)])}), pack.nodes, {"A0": 0})
    content = {"text": leak, "attachments": list(places(leak))}
    run = journal.admit("chat", "m", content, f"title {leak}", {"on_restart": "auto"}, point).result().run
    answers += [run, journal.find_input("chat", "m", content)]
    answers.append(journal.keep_input(run.run_id, "x", content).result())
    for number, place in enumerate(places(leak)):
        call = world.opened(run, tool(1, number), arguments={"value": place}, identity=[number, place], extra={"e": place})
        answers.append(
            journal.finish_call(call.call_id, Outcome.ERROR, place, error=f"E {leak}", usage={"u": place}, extra={"h": place}).result()
        )
    answers.append(journal.checkpoint(run.run_id, run.token, point, ["x"]).result())
    cut = world.opened(run, tool(2), arguments={"deep": {"x": leak}})
    journal.finish_call(answers[-2].call_id, Outcome.OK, [leak, "late"]).exception()
    answers.append(journal.interrupt_run(run.run_id, f"by {leak}").result())
    answers.append(
        world.decide(answers[-1], Choice.CONFIRMED_COMPLETED, cut, note=f"note {leak}", result_text=f"text {leak}", origin=f"o {leak}")
    )
    claim = world.claim(run)
    answers.append(journal.hold_run(run.run_id, HoldReason.ASK, text=f"hold {leak}", facts={"f": list(places(leak))}).result())
    answers += [journal.run_view(run.run_id), journal.listing(), journal.listing("all"), journal.calls(run.run_id)]
    answers.append(journal.stop_run(run.run_id, f"origin {leak}", f"note {leak}").result())
    other = world.admit("other")
    journal.close_run(other.run_id, other.token, RunState.COMPLETED, {"answer": list(places(leak))}, point, []).result()
    answers += [journal.runs_of("other"), claim, journal.inputs(run.run_id), journal.unfinished()]
    return answers


def files(folder: Path) -> Iterator[bytes]:
    yield from (path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_reaches_no_file_and_no_answer(told: World, form: str) -> None:
    leak = FORMS[form]

    answers = through_every_door(told, leak)

    seen = repr(answers)
    assert "hidden:" in seen or "§§secret(" in seen
    needles = {leak, json.dumps(leak)[1:-1], repr(leak)[1:-1]}
    assert not [needle for needle in needles if needle in seen]
    wal = told.folder / "journal.db-wal"
    assert wal.stat().st_size > 0
    for data in files(told.folder):
        assert not [needle for needle in needles if needle.encode() in data]


def test_a_secret_that_is_not_known_is_found_by_this_test(world: World) -> None:
    """The canary test can fail: without the secret's name the canary is everywhere."""
    answers = through_every_door(world, "an-unknown-canary")

    assert "an-unknown-canary" in repr(answers)
    assert any(b"an-unknown-canary" in data for data in files(world.folder))
