"""What does not match is not started: the host's files, the loaded code, the journal, one record (I9)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlite_utils

from refhost.model import answer, use
from refhost.world import World
from tests.support.scenes import add_probe, begin_effect, ended, hold_in_effect, script_effect, status
from tests.support.story import Panel

PINNED = "tools/effect.py"


def banners(world: World) -> list[dict]:
    return [b for b in world.client().call("banners")["banners"] if b["id"].startswith("durable_execution")]


def merged(world: World) -> Path:
    """The journal as one file, after a kill; the server is down."""
    file = world.data_folder / "journal.db"
    connection = sqlite3.connect(file)
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return file


def test_one_changed_byte_refuses_guards_and_changes_nothing(world, model, gate):
    model.script(answer("unrecorded"), when="something else", repeat=True)
    script_effect(model, gate)
    add_probe(world)
    world.start()
    held = hold_in_effect(world)
    world.kill()
    file = merged(world)
    before = file.read_bytes()
    pinned = world.folder / PINNED
    original = pinned.read_bytes()
    pinned.write_bytes(original + b"\n")

    world.start()
    client = world.client()

    assert status(world)["active"] is False
    assert (status(world)["why_not"]["code"], status(world)["why_not"]["files"]) == ("host_changed", [PINNED])
    assert "Nothing was changed" in status(world)["why_not"]["text"]
    assert [(b["type"], PINNED in b["html"]) for b in banners(world)] == [("warning", True)]
    asked, history = len(model.requests("chat")), client.history(held)
    assert "nothing was started" in client.say(held, "go on")
    client.nudge(held)
    client.wait_idle(held)
    assert "nothing was started" in client.call("plugins/probe/direct", {"context": held, "text": "go on"})["answer"]
    assert (len(model.requests("chat")), world.effects(), client.running(held)) == (asked, ["start a"], False)
    assert client.history(held) == history
    other = client.create_chat()
    assert [client.say(other, "something else", "one-id") for _ in range(2)] == ["unrecorded"] * 2
    assert [i["content"] for i in client.logs(other) if i["type"] == "user"] == ["something else"] * 2  # no adapter of ours
    assert file.read_bytes() == before
    assert not (world.data_folder / "journal.db-wal").exists() or not (world.data_folder / "journal.db-wal").stat().st_size

    pinned.write_bytes(original)
    world.restart()
    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(held), "confirmed_completed", "seen").status == 200
    assert ended(world, held) == "completed"


def test_a_direct_turn_in_a_held_chat_is_refused_while_active_and_leaves_the_chat_as_it_is(world, model, gate):
    script_effect(model, gate)
    add_probe(world)
    world.start()
    held = hold_in_effect(world)
    client = world.client()
    history = client.history(held)

    reply = client.call("plugins/probe/direct", {"context": held, "text": "go on"})["answer"]

    assert "on hold" in reply
    assert client.history(held) == history
    world.restart()
    assert Panel(world.client()).wait_held(held)["run"]["reason"]["code"] == "outcome_unknown"


def test_loaded_code_that_differs_from_the_disk_needs_a_restart(tmp_path, model):
    with World(tmp_path / "world", model=model, enabled=False) as world:
        world.start()
        model.script(answer("loaded"))
        world.client().say(world.client().create_chat(), "hello")
        file = world.folder / "helpers/message_queue.py"
        file.write_text(file.read_text().replace("queue[0] if queue", "queue[-1] if queue"))
        world.write_pins()

        world.client().toggle(True)

        why = status(world)["why_not"]
        assert (why["code"], why["files"]) == ("restart_needed", ["helpers/message_queue.py"])
        world.restart()
        assert status(world)["active"] is True


@pytest.mark.parametrize(("broken", "active"), [("UPSTREAM.json", False), ("config.json", True), ("usr/secrets.env", False)])
def test_a_file_that_cannot_be_understood_never_stops_the_host(world, model, broken, active):
    model.script(answer("fine"), repeat=True)
    folder = world.folder if broken.startswith("usr") else world.plugin_folder
    (folder / broken).write_bytes(b"{ not what it should be \xff\xfe")

    world.start()

    assert status(world)["active"] is active
    assert active or status(world)["why_not"]["code"] == "internal"
    assert Panel(world.client()).client.get("api/health").status == 200


def test_half_updated_code_lets_the_host_start_and_its_chats_wait(world, model):
    (world.plugin_folder / "bridge/overrides.py").write_text("def half(")

    world.start()

    client = world.client()
    assert client.ask("message", {"text": "hello", "context": client.create_chat(), "message_id": "x"}).status == 500
    assert "could not be loaded" in world.output()
    assert model.requests("chat") == []


def garbage(file: Path):
    file.write_bytes(b"\x00garbage" * 4096)
    return Path.read_bytes


def damaged_events(file: Path):
    connection = sqlite3.connect(file)
    size = connection.execute("pragma page_size").fetchone()[0]
    page = connection.execute("select rootpage from sqlite_schema where name = 'events'").fetchone()[0]
    connection.close()
    with file.open("r+b") as opened:
        opened.seek((page - 1) * size)
        opened.write(b"\xff" * size)
    return lambda path: path.read_bytes()[(page - 1) * size : page * size]


@pytest.mark.parametrize(
    ("damage", "code", "red", "is_open"),
    [(garbage, "journal_foreign", "error", True), (damaged_events, "journal_damaged", "warning", False)],
)
def test_a_journal_that_cannot_be_read_at_the_start_never_stops_the_host(world, model, gate, damage, code, red, is_open):
    model.script(answer("unrecorded"), when="go on", repeat=True)
    script_effect(model, gate)
    world.start()
    held = hold_in_effect(world)
    world.kill()
    file = merged(world)
    left_alone = damage(file)
    before = left_alone(file)

    world.start()
    client = world.client()

    assert status(world)["active"] is False
    assert status(world)["why_not"]["code"] == code
    assert [banner["type"] for banner in banners(world)] == [red]
    assert (client.say(held, "go on") == "unrecorded") is is_open
    assert client.say(client.create_chat(), "go on") == "unrecorded"
    assert left_alone(file) == before


def the_root(db, run):
    db.execute("update checkpoints set body = x'7b7d' where run_id = ?", [run])


def the_message(db, run):
    db.execute("update blobs set body = x'7b7d' where digest = (select input_digest from runs where run_id = ?)", [run])


def the_arguments(db, run):
    of_the_tool = "select arguments_digest from calls where run_id = ? and kind = 'tool'"
    db.execute(f"update blobs set body = x'7b7d' where digest = ({of_the_tool})", [run])


def the_answer(db, run):
    db.execute("update blobs set body = x'7b7d' where digest = (select value_digest from calls where run_id = ? and kind = 'model')", [run])


def the_mode(db, run):
    db.execute("update runs set mode = x'00' where run_id = ?", [run])


def the_position(db, run):
    db.execute("update checkpoints set position = x'5b5d' where run_id = ?", [run])


def test_one_invalid_record_closes_its_own_chat_only(world, model, gate):
    damages = [the_root, the_message, the_arguments, the_answer, the_mode, the_position]
    model.script(answer("free again"), when="after the stop", repeat=True)
    model.script(answer("all done"), when="tool_result", repeat=True)
    for number in range(len(damages) + 1):
        model.script(use("effect", arg=f"a{number}", gate=str(gate)), when=f"please {number}", repeat=True)
    world.start()
    chats = [begin_effect(world, f"please {number}") for number in range(len(damages) + 1)]
    world.kill()
    db = sqlite_utils.Database(world.data_folder / "journal.db")
    for damage, chat in zip(damages, chats, strict=False):
        damage(db, next(db.query("select run_id from runs where chat_id = ?", [chat]))["run_id"])
    db.conn.commit()
    db.conn.close()
    effects = world.effects()

    world.start()
    client, panel = world.client(), Panel(world.client())

    sound = chats.pop()
    assert panel.decide(panel.wait_held(sound), "confirmed_completed", "seen").status == 200
    assert ended(world, sound) == "completed"
    asked = len(model.requests("chat"))
    for chat in chats:
        detail = panel.wait_held(chat)
        assert detail["run"]["reason"]["code"] == "checkpoint_corrupt", damages[chats.index(chat)]
        assert [d["id"] for d in detail["decisions"] if d["allowed"]] == ["stop"]
        assert "on hold" in client.say(chat, "go on")
        assert "Open Recovery" in client.wait_log(chat, "warning", "")["content"]
    assert (len(model.requests("chat")), world.effects()) == (asked, effects)
    for chat in chats:
        assert panel.decide(panel.wait_held(chat), "stop").status == 200
        assert ended(world, chat) == "stopped"
    assert client.say(chats[0], "after the stop") == "free again"
