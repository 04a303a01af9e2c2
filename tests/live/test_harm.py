"""Recovery that cannot hurt, on the real host: crash loops, ten kills, chats used, deleted, branched or compacted behind the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery

KEPT = "before it was brought back"

STANDS = '''
"""Lets the second step of a chat stand while a file is there, and kills the server there while another one is."""

import asyncio
import os
import signal
from pathlib import Path

from helpers.extension import Extension

TRAP = Path("{trap}")


class Stands(Extension):
    async def execute(self, **kwargs):
        said = str([message.content for message in self.agent.history.current.messages])
        if "STAND HERE" not in said or "tool_result" not in said:
            return
        (TRAP / "there").touch()
        while (TRAP / "stand").exists():
            await asyncio.sleep(0.05)
        if (TRAP / "deadly").exists():
            os.kill(os.getpid(), signal.SIGKILL)
'''


@pytest.fixture
def trap(host: LiveHost, tmp_path: Path) -> Path:
    """A plugin of somebody else whose hook can take the server down."""
    folder = host.home / "usr" / "plugins" / "stands"
    hook = folder / "extensions" / "python" / "message_loop_prompts_before"
    host.kill()
    hook.mkdir(parents=True, exist_ok=True)
    (folder / "plugin.yaml").write_text("name: stands\ntitle: Stands\ndescription: for a test\nversion: 0.0.1\n")
    (hook / "_10_stands.py").write_text(STANDS.replace("{trap}", str(tmp_path)))
    (tmp_path / "stand").touch()
    host.start()
    return tmp_path


@pytest.fixture
def held(host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect) -> str:
    """A chat that was killed inside its command and is held; the plugin is off."""
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    recovery.held(chat)
    client.toggle(False).ok()
    return chat


def go_on(client: Client, model: ScriptedModel, recovery: Recovery, chat: str) -> None:
    model.script(say("Finished."))
    recovery.decide(recovery.held(chat), "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "Finished.")
    recovery.wait_state(chat, "completed")


def test_a_run_that_takes_the_server_down_is_held_and_its_neighbour_ends_well(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, trap: Path
) -> None:
    guilty = client.new_chat()
    model.script(effect.once())
    client.send(guilty, "STAND HERE, please")
    client.wait("the chat to stand between two steps", (trap / "there").exists)
    host.kill()
    (trap / "stand").unlink()
    (trap / "deadly").touch()
    for _ in range(3):
        host.start()
        host.wait_dead()

    host.start()
    run = recovery.held(guilty)

    assert run["run"]["reason"]["code"] == "crash_loop"
    assert "ended three times" in run["run"]["reason"]["text"]
    model.script(say("An innocent answer."))
    assert client.ask(client.new_chat(), "Hello") == "An innocent answer."
    (trap / "deadly").unlink()
    model.script(say("Finished."))
    recovery.decide(run, "resume").ok()
    client.wait_answer(guilty, "Finished.")
    assert effect.lines == [effect.name]


@pytest.mark.parametrize("restart", [False, True], ids=["live", "restart"])
def test_a_chat_that_moved_on_goes_back_to_the_record_and_what_was_newer_is_kept(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str, restart: bool
) -> None:
    model.script(say("Said while off."))
    assert client.ask(held, "Go on without the journal") == "Said while off."
    client.wait_idle(held)
    on_again(host, client, restart)

    recovery.restore(recovery.held(held), "Go back").ok()
    go_on(client, model, recovery, held)

    (copy,) = [chat for chat, entry in client.chats().items() if KEPT in (entry["name"] or "")]
    assert "Go on without the journal" in client.bubbles(copy, "user")
    assert "Go on without the journal" not in client.bubbles(held, "user")
    assert model.main[-1].count("Go on without the journal") == 0
    assert effect.lines == ["start", "end"]
    model.script(say("In the copy."))
    assert client.ask(copy, "An ordinary chat") == "In the copy."
    client.remove(copy)


@pytest.mark.parametrize("restart", [False, True], ids=["live", "restart"])
def test_a_chat_that_was_deleted_comes_back_if_a_person_wants_it(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str, restart: bool
) -> None:
    client.remove(held)
    on_again(host, client, restart)
    run = recovery.held(held)
    assert run["run"]["reason"]["code"] == "chat_gone"
    assert held not in client.chats()

    recovery.restore(run, "Bring the chat back").ok()
    go_on(client, model, recovery, held)

    assert client.bubbles(held, "user") == ["Write the file"]
    assert effect.lines == ["start", "end"]


def test_a_branch_of_a_held_chat_is_an_ordinary_chat(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, held: str
) -> None:
    client.toggle(True).ok()
    recovery.held(held)
    first = client.log(held, "user")[0]["no"]

    branch = client.post("plugins/_chat_branching/branch_chat", {"context": held, "log_no": first}).ok()["ctxid"]

    model.script(say("From the branch."))
    assert client.ask(branch, "Ask the branch") == "From the branch."
    assert [item["chat_id"] for item in recovery.waiting() if item["chat_id"] in (held, branch)] == [held]
    assert "_durable_execution" not in client.chats()[branch]
    go_on(client, model, recovery, held)
    assert effect.lines == ["start", "end"]


def on_again(host: LiveHost, client: Client, restart: bool) -> None:
    if restart:
        host.stop()
        host.toggle_file(enabled=True)
        host.start()
    else:
        client.toggle(True).ok()


@pytest.mark.timeout(900)  # eleven starts
def test_ten_kills_in_one_model_call_show_the_model_the_same(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    chat = client.new_chat()
    model.script(effect.once())
    for number in range(10):
        never = model.hold("Never heard.")
        if number == 0:
            client.send(chat, "Write the line")
        else:
            recovery.grant(recovery.held(chat)).ok()
        never.wait_arrived()
        host.kill()
        host.start()
    model.script(say("Finished."))
    recovery.grant(recovery.held(chat)).ok()
    client.wait_answer(chat, "Finished.")

    asked = model.main[1:]
    assert len(asked) == 11
    assert [request.count("These were lost") for request in asked] == [0] + [1] * 10
    assert {request.count("tool_result") for request in asked} == {1}
    assert {len(request.messages) for request in asked[1:]} == {len(asked[1].messages)}
    assert len(client.bubbles(chat, "warning")) == 1
    assert effect.lines == [effect.name]
