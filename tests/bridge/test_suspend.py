"""Everything is put aside for a restart, by real servers with a model stream and effects open, and goes on by itself."""

from __future__ import annotations

import contextlib
import http.client
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from refhost.model import Model, answer, prose, use, with_
from refhost.world import World
from tests.support.scenes import Saying, begin_effect, ended, locked, script_effect, status
from tests.support.story import API, Panel

TEXT = "please"


def suspend(world: World, action: str = "suspend") -> Any:
    return world.client().call(API + "suspend", {"action": action})


def wait_suspended(world: World) -> dict[str, Any]:
    def look() -> Any:
        found = status(world)["suspension"]
        return found if found and found["state"] == "suspended" else None

    found = world.client().wait(look, what="everything to be suspended")
    assert found is not None
    return dict(found)


def states(world: World) -> list[str]:
    return [run["state"] for run in Panel(world.client()).all_runs()]


def begin_stream(world: World, model: Model) -> str:
    """A chat whose model is speaking and does not come to an end."""
    model.script(with_(answer("half an answer and the other half"), gate="never", gate_at=20), answer("all done"), when=TEXT)
    client = world.client()
    chat = client.create_chat()
    client.send(chat, TEXT)
    model.wait_requests(1)
    return chat


@pytest.fixture
def grace(world: World) -> None:
    (world.plugin_folder / "config.json").write_text('{"suspend_grace_s": 1}', "utf-8")


def test_a_model_stream_is_cut_at_once_and_asked_again_when_it_is_taken_back(world: World, model: Model) -> None:
    world.start()
    chat = begin_stream(world, model)

    suspend(world)
    found = wait_suspended(world)

    assert found["safe"] is True
    assert "Safe to restart" in found["text"]
    assert states(world) == ["queued"]
    assert not world.client().running(chat)
    world.client().send(chat, "and one more")
    assert suspend(world, "resume") == {"suspension": None, "resumed": 1}
    assert ended(world, chat) == "completed"
    assert status(world)["suspension"] is None
    assert [item["content"] for item in world.client().logs(chat) if item["type"] == "user"] == [TEXT, "and one more"]
    assert sum(request.prompt.count("and one more") for request in model.requests("chat")) == 1


def test_a_turn_that_waits_for_a_person_is_launched_anew_after_a_decision(world: World, model: Model) -> None:
    """Its coroutine stands in a hook; while all is suspended it may not go on from there."""
    (world.plugin_folder / "config.json").write_text('{"live_unknown": "hold"}', "utf-8")
    model.script(answer("all done"), when="result-of-a", repeat=True)
    model.script(use("effect", arg="a", before="timeout"), when=TEXT, repeat=True)
    world.start()
    client, panel = world.client(), Panel(world.client())
    chat = client.create_chat()
    client.send(chat, TEXT)
    detail = panel.wait_held(chat)
    suspend(world)
    assert wait_suspended(world)["safe"] is True

    assert panel.decide(detail, "confirmed_completed", "seen outside", result_text="result-of-a").status == 200
    assert states(world) == ["queued"]
    assert len(model.requests("chat")) == 1
    suspend(world, "resume")

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a"]


def test_an_effect_that_ends_in_time_is_saved_and_nothing_begins_after_it(world: World, model: Model, gate: Path) -> None:
    (world.plugin_folder / "config.json").write_text('{"suspend_grace_s": 50}', "utf-8")
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)

    assert suspend(world)["suspension"]["state"] == "suspending"
    named = status(world)["suspension"]
    assert [call["name"] for call in named["open"]] == ["effect"]
    assert named["safe"] is False
    gate.touch()
    assert wait_suspended(world)["safe"] is True

    assert len(model.requests("chat")) == 1
    world.restart()
    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a", "end a"]
    assert len(model.requests("chat")) == 2


def test_a_message_that_comes_while_suspended_is_kept_and_answered_after_the_restart(world: World, model: Model) -> None:
    model.script(answer("all done"), when=TEXT)
    world.start()
    client = world.client()
    chat = client.create_chat()
    suspend(world)
    wait_suspended(world)

    reply = client.call("message", {"text": TEXT, "context": chat, "message_id": "m1"})

    assert reply["suspended"] is True
    assert model.requests("chat") == []
    world.restart()
    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 1
    assert [item["content"] for item in world.client().logs(chat) if item["type"] == "user"] == [TEXT]


def test_a_decision_that_is_made_while_suspended_waits_for_the_restart(world: World, model: Model, gate: Path) -> None:
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)
    world.client().nudge(chat)  # held by a living process
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    suspend(world)
    wait_suspended(world)

    assert panel.decide(detail, "confirmed_completed", "seen outside").status == 200
    assert len(model.requests("chat")) == 1
    world.restart()

    assert ended(world, chat) == "completed"


# -- the ends that announce themselves -------------------------------------------------------------


def test_a_signal_with_a_stream_open_ends_the_server_and_the_run_goes_on_at_the_next_start(world: World, model: Model) -> None:
    world.start()
    chat = begin_stream(world, model)

    world.signal(signal.SIGTERM)

    assert world.wait_dead() == -signal.SIGTERM
    world.start()
    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 2
    assert Panel(world.client()).all_runs()[0]["state"] == "completed"


LATE_LOOK = """
import socket, sys, time

real = socket.create_connection


def look(address, *args, **kwargs):
    while f"--port={address[1]}" in sys.argv:
        time.sleep(1)
    return real(address, *args, **kwargs)


socket.create_connection = look
"""


def test_a_signal_right_after_the_port_opens_puts_aside_too(world: World, model: Model, tmp_path: Path) -> None:
    """On a busy machine a turn runs before a thread of ours finds that the port answers; here it never finds out."""
    inject = tmp_path / "late_look.py"
    inject.write_text(LATE_LOOK, "utf-8")
    world.start(inject=inject)
    chat = begin_stream(world, model)

    world.signal(signal.SIGTERM)

    assert world.wait_dead() == -signal.SIGTERM
    world.start()
    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 2


def test_a_signal_with_a_command_running_ends_in_time_and_holds_it(world: World, model: Model, gate: Path, grace: None) -> None:
    script_effect(model, gate)
    world.start()
    chat = begin_effect(world)

    world.signal(signal.SIGTERM)

    assert world.wait_dead(60) == -signal.SIGTERM
    world.start()
    assert Panel(world.client()).wait_held(chat)["run"]["reason"]["code"] == "outcome_unknown"
    assert world.effects() == ["start a"]


def test_a_second_signal_ends_the_grace_period(world: World, model: Model, gate: Path) -> None:
    (world.plugin_folder / "config.json").write_text('{"suspend_grace_s": 50}', "utf-8")
    script_effect(model, gate)
    world.start()
    begin_effect(world)
    world.signal(signal.SIGTERM)
    world.client().wait(lambda: status(world)["suspension"], what="the suspension")

    began = time.monotonic()
    world.signal(signal.SIGTERM)
    world.wait_dead(30)

    assert time.monotonic() - began < 30  # far less than the grace period: the second signal counted


def test_a_signal_lets_waiting_callers_go(world: World, model: Model) -> None:
    """Without this the web server waits for them, and they for a model."""
    world.start()
    chat = world.client().create_chat()
    model.script(with_(prose("never"), gate="never"), when=TEXT)
    caller = Saying(world, chat, TEXT)
    model.wait_requests(1)

    world.signal(signal.SIGTERM)

    assert world.wait_dead(60) == -signal.SIGTERM
    caller.join(60)
    assert "suspended" in caller.answer


def test_a_signal_while_the_journal_is_locked_does_not_hang(world: World, model: Model, grace: None) -> None:
    world.start()
    begin_stream(world, model)

    with locked(world):
        world.signal(signal.SIGTERM)
        world.wait_dead(60)

    world.start()
    assert Panel(world.client()).wait_held()["run"]["reason"]["code"] == "model_interrupted"


@pytest.mark.parametrize("dockerized", [True, False], ids=["ends", "starts over"])
def test_a_restart_by_the_host_suspends_first(world: World, model: Model, dockerized: bool) -> None:
    world.start(dockerized=dockerized)
    chat, pid = begin_stream(world, model), world.pid

    with contextlib.suppress(OSError, http.client.HTTPException):
        world.client().ask("restart")
    if dockerized:
        assert world.wait_dead() == 0
        world.start()
    world.wait_ready()

    assert ended(world, chat) == "completed"
    assert (world.pid == pid) is not dockerized
    assert len(model.requests("chat")) == 2
    assert Panel(world.client()).needs_you() == []


def test_switched_off_the_end_of_the_server_is_the_hosts_again(world: World, model: Model) -> None:
    world.start()
    world.client().toggle(False)

    world.signal(signal.SIGTERM)

    assert world.wait_dead(60) == -signal.SIGTERM


def test_without_the_plugin_a_signal_loses_the_turn(world: World, model: Model) -> None:
    """What all this is for: nothing goes on, and the model's work is gone."""
    world.toggle_file(False)
    world.start()
    chat = begin_stream(world, model)

    world.signal(signal.SIGTERM)
    world.wait_dead()
    world.start()

    assert not world.client().running(chat)
    assert len(model.requests("chat")) == 1


# -- from the command line -------------------------------------------------------------------------


def command(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As it is run in the plugin's folder, where it finds the journal by itself."""
    asked = [sys.executable, "-m", "journal", *arguments]
    return subprocess.run(asked, cwd=world.plugin_folder, capture_output=True, text=True, timeout=90, check=False)


def test_the_command_line_suspends_a_running_server_and_says_that_it_is_safe(world: World, model: Model) -> None:
    world.data_folder.mkdir(parents=True)
    (world.data_folder / "asked.json").write_text('{"id": "of an earlier process", "what": "suspend"}', "utf-8")
    world.start()
    world.client().wait(lambda: not (world.data_folder / "asked.json").exists(), what="the old question to go")
    assert status(world)["suspension"] is None
    chat = begin_stream(world, model)

    done = command(world, "suspend")

    assert done.returncode == 0, done.stderr
    assert "Safe to restart now" in done.stdout
    assert states(world) == ["queued"]
    again = command(world, "suspend", "--resume")
    assert again.returncode == 0, again.stderr
    assert "go on" in again.stdout
    assert ended(world, chat) == "completed"
    assert [path.name for path in world.data_folder.glob("a*.json*")] == []
