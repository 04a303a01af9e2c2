"""No known secret reaches anything that the plugin writes or answers (I8), and what a mask costs (masked_value_lost)."""

from __future__ import annotations

import base64
import contextlib
import json
import shlex
from urllib.parse import quote

import pytest

from refhost.model import answer, raw, use
from refhost.world import World
from tests.support.scenes import ended, status, wait_status
from tests.support.story import API, FAULTS, Panel

STORE = 'canary-store/é&"1+2'
ENV = "canary-env/ü&x+1"
CORES = (b"canary-store", b"canary-env")  # plain in each escaped form, so that no part of a secret gets through either
PIECE = 12


@pytest.fixture
def world(tmp_path, model):
    with World(tmp_path / "world", model=model, secrets={"STORE_KEY": STORE}) as made:
        yield made


def start(world: World, **more) -> None:
    world.start(env={"MY_TOKEN": ENV, **more.pop("env", {})}, **more)


def forms(*values: str) -> str:
    return " ".join(form for v in values for form in (v, json.dumps(v)[1:-1], quote(v), quote(v, safe="").lower(), *dressed(v)))


def dressed(value: str) -> list[str]:
    """Forms in which nobody would recognise it."""
    data = value.encode()
    long = base64.b64encode(bytes(40) + data + bytes(40)).decode()
    return [
        shlex.quote(f"{value}'"),
        data.hex(),
        data.hex(":").upper(),
        "".join(f"\\x{byte:02x}" for byte in data),
        *(base64.b64encode(bytes(offset) + data).decode() for offset in range(3)),
        base64.urlsafe_b64encode(data).decode().rstrip("="),
        base64.encodebytes(bytes(47) + data).decode(),
        "\\n".join(long[at : at + 64] for at in range(0, len(long), 64)),
        f"{value[:7]}\r\n    {value[7:]}",
    ]


def pieces() -> set[bytes]:
    """What no file and no answer may contain: parts of secrets that are long enough to give them away, in each encoding."""
    found = set()
    for value in (STORE, ENV):
        data = value.encode()
        alone = [base64.b64encode(bytes(offset) + data)[offset + 1 : (offset + len(data)) * 4 // 3 - 1] for offset in range(3)]
        for whole in (data.hex().encode(), *alone):
            found |= {whole[at : at + PIECE] for at in range(len(whole) - PIECE + 1)}
    return found


def condensed(text: bytes) -> list[bytes]:
    """Without line wraps and what separates digits, so that nothing hides behind them."""
    joined = text.replace(b"\\r", b"").replace(b"\\n", b"").translate(None, b" \r\n\t\\")
    return [joined, joined.translate(None, b":x").lower()]


def written(world: World) -> dict[str, bytes]:
    """Everything that the plugin wrote or answers, by where it stands."""
    files = {str(p): p.read_bytes() for p in world.data_folder.rglob("*") if p.is_file()}
    lines = "\n".join(line for line in world.output().splitlines() if "urable" in line)
    client, found = world.client(), {**files, "output": lines.encode()}
    found["status"] = client.ask(API + "status").text.encode()
    for tab in ("needs_you", "all"):
        found[tab] = client.ask(API + "recovery_list", {"tab": tab}).text.encode()
    for run in Panel(client).all_runs():
        found[run["run_id"]] = client.ask(API + "recovery_run", {"run_id": run["run_id"]}).text.encode()
        logs = client.logs(run["chat_id"])
        found[f"warnings {run['run_id']}"] = str([i for i in logs if str(i["id"]).startswith("durable")]).encode()
    return found


def assert_clean(world: World) -> None:
    found = written(world)
    assert any(place.endswith("journal.db") for place in found)
    assert [(place, text[at - 60 : at + 40]) for place, text in found.items() for core in CORES if (at := text.find(core)) >= 0] == []
    encoded = pieces()
    for place, text in found.items():
        for each in condensed(text):
            assert [(place, each[max(0, at - 60) : at + 40]) for piece in encoded if (at := each.find(piece)) >= 0] == []


def test_canaries_are_found_nowhere(world, model):
    every = forms(STORE, ENV)
    model.script(raw(f"A chat about {ENV}"), kind="utility", repeat=True)
    model.script(answer(f"done with {every}"), when="ended well", repeat=True)
    model.script(use("effect", arg="b", value=f"ended well {every}", thoughts=every), when="ValueError", repeat=True)
    model.script(use("effect", arg=f"a {every}", raises="value", progress=every, note=f"§§secret(STORE_KEY) {every}"), repeat=True)
    start(world, env={"FAULT": "after:begin_call.tool:2", "FAULT_MARK": str(world.folder / "killed")}, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    text = "x" * (80 - 13) + every  # a title is cut in the middle of a secret
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, text)
    world.wait_dead()

    start(world)
    assert_clean(world)
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    reply = panel.decide(detail, "confirmed_completed", f"I looked: {every}", result_text=f"ended well {every}")

    assert reply.status == 200
    assert not any(core in reply.text.encode() for core in CORES)
    assert ended(world, chat) == "completed"
    world.client().say(chat, f"again {every}")
    assert_clean(world)
    bad = world.client().ask(API + "recovery_run", {"run_id": ENV})
    assert (bad.status, ENV in bad.text) == (404, False)


def test_this_test_would_find_a_canary_in_disguise():
    for form in dressed(ENV)[1:-1]:
        assert any(piece in each for each in condensed(form.encode()) for piece in pieces()), form


def kill_before_the_effect(world: World) -> str:
    """A chat that was killed when its command was about to run, and is up again."""
    fault = {"FAULT": "after:begin_call.tool:1", "FAULT_MARK": str(world.folder / "killed")}
    start(world, env=fault, inject=FAULTS)
    client = world.client()
    chat = client.create_chat()
    with contextlib.suppress(OSError):  # the server may die before it answers
        client.send(chat, "please")
    world.wait_dead()
    start(world)
    return chat


def test_a_secret_of_the_host_is_filled_in_again_by_the_host(world, model):
    told = world.folder / "told"
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("code_execution_tool", runtime="terminal", code=f"printf %s '§§secret(STORE_KEY)' >> {told}"), repeat=True)
    chat = kill_before_the_effect(world)
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "outcome_unknown"

    assert panel.decide(detail, "confirmed_not_completed", "the file is not there").status == 200

    assert ended(world, chat) == "completed"
    assert told.read_text() == STORE
    assert len(model.requests("chat")) == 2
    assert_clean(world)


def test_a_list_of_secrets_that_cannot_be_read_again_is_said(world, model):
    start(world)
    meta = world.usr / "projects" / "one" / ".a0proj"
    meta.mkdir(parents=True)
    (meta / "secrets.env").write_bytes(b"KEY=\xff\xfe")

    world.client().wait(lambda: status(world)["masking_problem"], what="the problem in the status")
    banners = [each["id"] for each in world.client().call("banners")["banners"]]
    (meta / "secrets.env").unlink()

    assert "durable_execution-masking" in banners
    wait_status(world, masking_problem=None)


def test_a_secret_that_nobody_can_fill_in_is_never_run_and_the_model_is_asked_again(world, model):
    told = world.folder / "told"
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("code_execution_tool", runtime="terminal", code=f"printf %s '{ENV}' >> {told}"), repeat=True)
    chat = kill_before_the_effect(world)
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "masked_value_lost"
    assert sorted(d["id"] for d in detail["decisions"] if d["allowed"]) == ["confirmed_completed", "new_attempt", "stop"]
    assert not told.exists()

    assert panel.decide(detail, "new_attempt").status == 200

    assert ended(world, chat) == "completed"
    assert told.read_text() == ENV
    assert len(model.requests("chat")) == 3
    assert_clean(world)
