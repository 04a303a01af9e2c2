"""Somebody changes the plugin, the host or the journal under the running server: it is noticed, said and recorded."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from refhost.model import answer
from tests.support.scenes import hold_in_effect, script_effect, status
from tests.support.story import Panel

FAST = {"JOB_LOOP_SECONDS": "0.3"}
NOTHING = {"plugin": [], "host": [], "journal": []}


def banners(world):
    return {b["id"]: b for b in world.client().call("banners")["banners"] if b["id"].startswith("durable_execution")}


def wait_changed(world, **wanted):
    found = {**NOTHING, **wanted}
    world.client().wait(lambda: status(world)["changed"] == found, what=f"{found}; {status(world)['changed']}")


def changes_noted(world, name):
    """How many changes are recorded, and where one of them has this name."""
    with contextlib.closing(sqlite3.connect(f"file:{world.data_folder / 'journal.db'}?mode=ro", uri=True)) as db:
        asked = "select count(*), max(instr(facts, ?)) from notices where kind = 'changes_seen'"
        return db.execute(asked, (name.encode(),)).fetchone()


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("plugin", "journal/planner.py"),
        ("plugin", "journal/sql/sqlite/calls.sql"),
        ("plugin", "api/status.py"),
        ("plugin", "webui/stores/recovery-form.js"),
        ("plugin", "UPSTREAM.json"),
        ("host", "tools/effect.py"),
    ],
)
def test_a_changed_file_is_noticed_and_said_until_it_is_put_back(world, model, where, name):
    model.script(answer("it works"), repeat=True)
    world.start(env=FAST)
    assert status(world)["changed"] == NOTHING
    assert banners(world) == {}
    file = (world.plugin_folder if where == "plugin" else world.folder) / name
    before = file.read_bytes()

    file.write_bytes(before + b"\n")
    wait_changed(world, **{where: [name]})

    banner = banners(world)["durable_execution-changed"]
    assert name in banner["html"]
    assert "restart" in banner["html"]
    world.client().wait(lambda: name in world.output(), what="the line in the output")
    world.client().wait(lambda: changes_noted(world, name)[0], what="the note in the journal")
    file.write_bytes(before)
    wait_changed(world)
    assert banners(world) == {}
    count, place = changes_noted(world, name)
    assert count == 1
    assert place > 0


def test_a_new_file_and_a_file_that_is_gone_are_changes_too(world):
    world.start(env=FAST)
    (world.plugin_folder / "bridge/extra.py").write_text("")
    (world.plugin_folder / "webui/main.html").unlink()

    wait_changed(world, plugin=["bridge/extra.py", "webui/main.html"])


def test_what_is_written_at_run_time_is_no_change(world, model):
    model.script(answer("it works"), repeat=True)
    world.start(env={**FAST, "PYTHONPYCACHEPREFIX": "", "PYTHONDONTWRITEBYTECODE": ""})
    (world.plugin_folder / "config.json").write_text("{}")
    assert world.client().say(world.client().create_chat(), "hello") == "it works"
    (world.plugin_folder / "api/status.py").write_bytes((world.plugin_folder / "api/status.py").read_bytes() + b"\n")

    wait_changed(world, plugin=["api/status.py"])  # nothing else, and somebody did look


def test_a_record_written_by_another_program_is_noticed(world, model, gate):
    model.script(answer("it works"), when="hello", repeat=True)
    script_effect(model, gate)
    world.start(env=FAST)
    hold_in_effect(world)
    world.restart(env=FAST)
    db = sqlite3.connect(world.data_folder / "journal.db", timeout=10)
    db.execute("update runs set title = 'what an agent wants you to read'")
    db.commit()
    db.close()
    client = world.client()
    client.say(client.create_chat(), "hello")

    wait_changed(world, journal=["journal.db"])

    assert "another program" in banners(world)["durable_execution-changed"]["html"]
    assert set(banners(world)) == {"durable_execution-changed", "durable_execution-holds"}


def test_a_foreign_lock_without_a_change_is_no_change(world, model):
    model.script(answer("it works"), repeat=True)
    world.start(env=FAST)
    db = sqlite3.connect(world.data_folder / "journal.db", isolation_level=None, timeout=10)
    db.execute("begin immediate")
    db.execute("rollback")
    db.execute("select count(*) from runs").fetchone()
    db.close()
    client = world.client()
    assert client.say(client.create_chat(), "hello") == "it works"
    (world.plugin_folder / "api/status.py").write_bytes((world.plugin_folder / "api/status.py").read_bytes() + b"\n")

    wait_changed(world, plugin=["api/status.py"])


def test_a_decision_says_where_it_came_from(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = hold_in_effect(world)
    panel = Panel(world.client())
    panel.decide(panel.wait_held(chat), "confirmed_completed", "seen")

    run = next(run for run in panel.all_runs() if run["chat_id"] == chat)

    assert [said["origin"] for said in panel.run(run["run_id"])["recorded"]] == ["panel 127.0.0.1"]
