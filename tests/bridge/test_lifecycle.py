"""On, off, by hand, updated, removed: what is in force when, and that off leaves nothing behind (I12)."""

from __future__ import annotations

import ast
import sqlite3
from pathlib import Path

import pytest

from refhost.model import answer
from refhost.world import CHECKOUT, World
from tests.support.scenes import (
    add_probe,
    begin_effect,
    calls,
    ended,
    hold_in_effect,
    identities,
    script_effect,
    status,
    wait_status,
)
from tests.support.story import API, Panel


def toasts(world):
    return [item["message"] for item in world.client().poll()["notifications"]]


def test_it_ships_switched_off_and_writes_nothing(tmp_path, model):
    model.script(answer("hello"))
    with World(tmp_path / "world", model=model, enabled=None) as world:
        world.start()

        assert world.client().say(world.client().create_chat(), "hi") == "hello"
        assert status(world)["active"] is False
        assert status(world)["why_not"]["code"] == "off"
        assert not world.data_folder.exists()


def test_on_at_run_time_and_running_chats_are_protected_from_their_next_message(world, model, gate):
    script_effect(model, gate)
    world.toggle_file(False)
    world.start()
    client = world.client()
    chat = begin_effect(world)

    client.toggle(True)

    assert status(world)["active"] is True
    assert status(world)["protected_from_next_message"] == [chat]
    gate.touch()
    client.wait_log(chat, "response", "all done")
    client.wait_idle(chat)
    assert Panel(client).all_runs() == []
    client.say(chat, "please again")
    assert ended(world, chat) == "completed"
    assert status(world)["protected_from_next_message"] == []


def test_running_chats_refuse_to_be_switched_off_and_nothing_changes(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    chat = begin_effect(world)

    reply = client.ask("plugins", {"action": "toggle_plugin", "plugin_name": "durable_execution", "enabled": False})

    assert reply.status == 200
    assert reply.json == {
        "ok": False,
        "error": "Durable Execution stays on: 1 chat(s) are running. Wait or stop them, then switch it off.",
    }
    assert any("stays on" in toast for toast in toasts(world))
    assert status(world)["active"] is True
    assert [(world.plugin_folder / name).exists() for name in (".toggle-0", ".toggle-1")] == [False, True]
    gate.touch()
    assert ended(world, chat) == "completed"
    assert {call["status"] for call in calls(world, chat)} == {"saved"}


def test_held_runs_are_named_once_when_it_is_switched_off(world, model, gate):
    script_effect(model, gate)
    world.start()
    chat = hold_in_effect(world, "please keep <b>this</b> title")

    world.client().toggle(False)

    named = [toast for toast in toasts(world) if "unfinished runs" in toast]
    assert len(named) == 1
    assert "<b>" not in named[0]
    assert status(world)["active"] is False
    assert "_durable_execution" not in world.client().context(chat)


def test_off_puts_back_the_very_objects_that_were_there(tmp_path, model):
    model.script(answer("fine"), repeat=True)
    with World(tmp_path / "world", model=model, enabled=False) as world:
        add_probe(world)
        world.start()
        client = world.client()
        chat = client.create_chat()

        def mail(text: str) -> None:
            """Answered by mail, so that what the host loads for that is wrapped as well."""
            sent = world.effects().count("end reply:fine")
            client.mail(chat, text)
            client.wait(lambda: world.effects().count("end reply:fine") > sent, what="the mail to be sent")
            client.wait_idle(chat)

        mail("first")
        before = identities(client)

        client.toggle(True)
        mail("second")
        during = identities(client)
        client.toggle(False)
        after = identities(client)
        mail("third")
        client.toggle(True)
        mail("fourth")
        again = identities(client)

        changed = [name for name in before if during[name] != before[name]]
        assert sorted(changed) == [
            "helpers.extension._get_extension_classes",
            "helpers.message_queue.add",
            "helpers.message_queue.log_user_message",
            "helpers.message_queue.remove",
            "helpers.message_queue.send_all_aggregated",
            "helpers.message_queue.send_message",
            "helpers.process.reload",
            "helpers.process.set_server",
            "helpers.watchdog._DispatchHandler.dispatch",
            "models._is_transient_litellm_error",
            "plugins._email_integration.helpers.handler.send_email_reply",
            "plugins._email_integration.helpers.smtp_client.format_error",
        ]
        assert [name for name in before if after[name] != before[name]] == []
        assert [name for name in before if again[name] != before[name]] == changed
        assert [run["title"] for run in Panel(client).all_runs()] == ["A scripted chat"] * 2
        assert [i["content"] for i in client.logs(chat) if i["type"] == "user"] == ["first", "second", "third", "fourth"]


WRAP = '''
"""Another plugin puts its own wrapper over the same function, or takes it away again."""

import functools

from helpers import api, message_queue


class Wrap(api.ApiHandler):
    async def process(self, input, request):
        if input.get("away"):
            message_queue.log_user_message = message_queue.log_user_message.__wrapped__
            return {}
        below = message_queue.log_user_message

        @functools.wraps(below)
        def on_top(*args, **kwargs):
            return below(*args, **kwargs)

        message_queue.log_user_message = on_top
        return {}
'''


def test_what_another_plugin_put_on_top_is_left_alone_said_and_works_again(world, model):
    model.script(answer("fine"), repeat=True)
    world.add_plugin("other", {"api/wrap.py": WRAP})
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.call("plugins/other/wrap")

    client.toggle(False)
    assert "helpers.message_queue.log_user_message" in world.output()
    client.say(chat, "while off")
    client.toggle(True)
    client.say(chat, "on again", "one-id")
    client.say(chat, "on again", "one-id")
    client.wait_idle(chat)  # a chat whose turn has its answer and is on its last lines is protected from its next message
    client.toggle(False)
    client.call("plugins/other/wrap", {"away": True})
    client.toggle(True)
    client.say(chat, "alone again", "other-id")
    client.say(chat, "alone again", "other-id")

    assert status(world)["active"] is True
    assert [i["content"] for i in client.logs(chat) if i["type"] == "user"] == ["while off", "on again", "alone again"]


def test_a_purge_of_all_plugin_modules_in_the_middle_of_a_tool_loses_nothing(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    held = hold_in_effect(world)
    client = world.client()
    chat = begin_effect(world)

    (world.plugin_folder / "hooks.py").touch()
    client.wait(lambda: "Plugin files changed" in world.output(), what="the purge")
    client.send(chat, "one more thing")
    assert client.running(chat)
    gate.touch()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "start a", "end a"]
    assert [(c["kind"], c["status"]) for c in calls(world, chat)] == [("model", "saved"), ("tool", "saved")] * 2
    prompt = model.requests("chat")[-1].prompt
    assert (prompt.count("one more thing"), prompt.count("effect a done")) == (1, 1)
    panel = Panel(client)
    detail = panel.wait_held(held)
    assert panel.decide(detail, "stop").status == 200
    assert ended(world, held) == "stopped"
    assert "unknown whether" in client.history(held)
    assert status(world)["restart_needed"] is False


def test_new_files_under_a_running_plugin_mean_guard_until_the_restart(world, model, gate):
    script_effect(model, gate)
    model.script(answer("unrecorded"), when="something else", repeat=True)
    world.start()
    held = hold_in_effect(world)
    chat = begin_effect(world)
    client = world.client()
    for name in ("bridge/notify.py", "hooks.py"):  # the host watches the second
        with (world.plugin_folder / name).open("a") as file:
            file.write("\n# newer\n")
        world.write_pins()

    wait_status(world, restart_needed=True)

    assert "on hold" in client.say(held, "go on")
    assert client.say(client.create_chat(), "something else") == "unrecorded"
    gate.touch()
    client.wait(lambda: "end a" in world.effects(), what="the effect to end")
    client.wait_idle(chat)
    assert world.effects() == ["start a", "start a", "end a"]
    world.restart()
    assert status(world)["restart_needed"] is False
    assert {r["chat_id"]: r["state"] for r in Panel(world.client()).all_runs()} == {held: "held", chat: "completed"}
    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(held), "confirmed_completed", "seen").status == 200
    assert ended(world, held) == "completed"


def test_uninstall_keeps_the_data_and_a_new_install_finds_it(world, model, gate):
    script_effect(model, gate)
    world.start()
    client = world.client()
    held = hold_in_effect(world)
    client = world.client()

    assert client.call("plugins", {"action": "delete_plugin", "plugin_name": "durable_execution"}) == {"ok": True}
    assert not world.plugin_folder.exists()
    assert (world.data_folder / "journal.db").exists()
    world.renew_plugin()
    client.toggle(True)

    assert "on hold" in client.say(held, "are you there?")
    assert Panel(client).wait_held(held)["run"]["reason"]["code"] == "outcome_unknown"
    assert world.effects() == ["start a"]


def foreign_text(path: Path) -> None:
    path.write_text("my own notes\n" * 200)
    path.chmod(0o644)


def foreign_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table notes (body text)")
        connection.execute("insert into notes values ('mine')")
    connection.close()
    path.chmod(0o644)


def newer_journal(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"pragma application_id = {0x44455831}")
        connection.execute("pragma user_version = 99")
        connection.execute("create table from_the_future (body text)")
    connection.close()
    path.chmod(0o600)


@pytest.mark.parametrize(
    ("make", "code"),
    [(foreign_text, "journal_foreign"), (foreign_sqlite, "journal_foreign"), (newer_journal, "journal_newer")],
)
def test_a_file_that_is_not_ours_is_refused_untouched_and_the_host_works(world, model, make, code):
    model.script(answer("works"))
    world.data_folder.mkdir(parents=True)
    file = world.data_folder / "journal.db"
    make(file)
    before = (file.read_bytes(), file.stat().st_mode, file.stat().st_mtime_ns)

    world.start()

    assert world.client().say(world.client().create_chat(), "hi") == "works"
    assert status(world)["why_not"]["code"] == code
    assert (file.read_bytes(), file.stat().st_mode, file.stat().st_mtime_ns) == before
    assert [p.name for p in world.data_folder.iterdir() if p.name != "journal.lock"] == ["journal.db"]


def test_our_code_imports_its_own_modules_only_when_it_loads():
    """After a purge a late import would bring a second copy of our classes into a running turn."""
    late = []
    for path in [*(CHECKOUT / "bridge").rglob("*.py"), *(CHECKOUT / "journal").rglob("*.py")]:
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                found = [n for n in ast.walk(function) if isinstance(n, ast.ImportFrom) and n.level]
                late += [f"{path.relative_to(CHECKOUT)}:{node.lineno}" for node in found]

    assert [place for place in late if not place.startswith("bridge/anchor.py")] == []


def test_every_answer_while_off_is_json_with_a_reason(tmp_path, model):
    with World(tmp_path / "world", model=model, enabled=False) as world:
        world.start()
        reply = world.client().ask(API + "recovery_list", {"tab": "all"})

        assert (reply.status, reply.json["code"]) == (503, "not_active")
