"""From the installer to the uninstaller, on a host that runs: arrives disabled, switches without a
restart, refuses a host that it does not know, leaves the host as it was and its data where it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from . import probe
from .client import Client
from .host import PLUGIN, LiveHost
from .model import ScriptedModel, say
from .recovery import Recovery

HOST = "bare"
PINNED = "helpers/message_queue.py"


@pytest.fixture
def host(module_host: LiveHost) -> Iterator[LiveHost]:
    """The bare host with a probe inside; each test starts without the plugin and leaves none."""
    if not module_host.running:
        module_host.start(inject=probe.INJECT, env=probe.env(module_host))
    yield module_host
    if module_host.plugin.exists():
        Client(module_host).uninstall().ok()
    assert module_host.changed_files() == []


@pytest.fixture
def installed(host: LiveHost, client: Client) -> LiveHost:
    answer = client.install(host.git_repository()).ok()
    assert answer["success"] is True, answer
    return host


def speak(client: Client, model: ScriptedModel, text: str, chat: str | None = None) -> str:
    chat = chat or client.new_chat()
    model.script(say(text))
    assert client.ask(chat, f"Please say {text}") == text
    client.wait_idle(chat)
    return chat


def test_install_from_git_arrives_disabled(installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    assert client.toggle_status() == "disabled"
    assert recovery.status()["active"] is False
    assert recovery.status()["why_not"]["code"] == "off"

    chat = speak(client, model, "Unrecorded.")

    client.toggle(True).ok()
    assert recovery.runs(chat) == []


def test_enable_without_restart_records_the_next_turn(
    installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat = speak(client, model, "Before.")

    client.toggle(True).ok()
    assert recovery.status()["active"] is True
    speak(client, model, "After.", chat)

    assert [run["state"] for run in recovery.runs(chat)] == ["completed"]


def test_a_chat_that_runs_while_enabling_is_protected_from_its_next_message(
    installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    chat = client.new_chat()
    held = model.hold(say("Unrecorded."))
    client.send(chat, "Begin before")
    held.wait_arrived()

    client.toggle(True).ok()
    assert recovery.status()["protected_from_next_message"] == [chat]
    held.release()
    client.wait_answer(chat, "Unrecorded.")
    assert recovery.runs(chat) == []

    speak(client, model, "Recorded.", chat)
    assert [run["state"] for run in recovery.runs(chat)] == ["completed"]


def test_off_leaves_every_attribute_the_object_that_it_was(installed: LiveHost, client: Client, model: ScriptedModel) -> None:
    speak(client, model, "Load everything.")
    before = probe.picture(installed)

    client.toggle(True).ok()
    during = probe.picture(installed)
    speak(client, model, "While on.")
    client.toggle(False).ok()

    assert probe.differing(before, during) != []
    assert probe.differing(before, probe.picture(installed)) == []
    speak(client, model, "While off.")


def test_on_off_on_records_again(installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    client.toggle(True).ok()
    chat = speak(client, model, "One.")
    client.toggle(False).ok()
    speak(client, model, "Two.", chat)
    client.toggle(True).ok()
    speak(client, model, "Three.", chat)

    assert [run["state"] for run in recovery.runs(chat)] == ["completed", "completed"]


def test_a_host_that_changed_is_refused_with_the_files_and_nothing_else_happens(
    installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    speak(client, model, "Load everything.")
    before = probe.picture(installed)
    pinned = installed.home / PINNED
    original = pinned.read_bytes()
    try:
        pinned.write_bytes(original + b"\n")
        client.toggle(True)
        status = recovery.status()

        assert status["active"] is False
        assert status["why_not"]["code"] == "host_changed"
        assert PINNED in status["why_not"]["files"]
        assert probe.differing(before, probe.picture(installed)) == []
        speak(client, model, "Works unrecorded.")
    finally:
        pinned.write_bytes(original)

    client.toggle(False)
    client.toggle(True).ok()
    assert recovery.status()["active"] is True


def test_uninstall_undoes_everything_and_keeps_the_data_for_a_reinstall(
    installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    speak(client, model, "Load everything.")
    before = probe.picture(installed)
    client.toggle(True).ok()
    chat = speak(client, model, "Recorded.")

    client.uninstall().ok()
    assert not installed.plugin.exists()
    assert probe.differing(before, probe.picture(installed)) == []
    assert list(installed.data.iterdir())
    speak(client, model, "Without.", chat)

    assert client.install(installed.git_repository()).ok()["success"] is True
    client.toggle(True).ok()
    assert [run["state"] for run in recovery.runs(chat)] == ["completed"]


def test_an_update_takes_effect_at_the_next_start_and_not_under_a_running_chat(
    installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    client.toggle(True).ok()
    chat = client.new_chat()
    held = model.hold(say("Recorded to the end."))
    client.send(chat, "Begin before the update")
    held.wait_arrived()
    with (installed.repository / "bridge" / "notify.py").open("a") as source:
        source.write("\n# another edition\n")
    installed.publish("another edition")

    assert "stays on" in client.update().ok()["error"]
    assert recovery.status()["active"] is True
    held.release()
    client.wait_answer(chat, "Recorded to the end.")
    assert client.update().ok()["success"] is True

    assert recovery.status()["why_not"]["code"] == "restart_needed"
    speak(client, model, "Unrecorded.", chat)
    installed.restart(inject=probe.INJECT, env=probe.env(installed))
    assert recovery.status()["active"] is True
    speak(client, model, "Recorded again.", chat)
    assert [run["state"] for run in recovery.runs(chat)] == ["completed", "completed"]


def test_the_manual_way_out(installed: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery) -> None:
    client.toggle(True).ok()
    chat = client.new_chat()
    held = model.hold(say("Never heard."))
    client.send(chat, "Cut this off")
    held.wait_arrived()
    installed.kill()

    installed.toggle_file(enabled=False)
    installed.start(inject=probe.INJECT, env=probe.env(installed))

    assert recovery.status()["why_not"]["code"] == "off"
    other = speak(client, model, "The host works.")
    assert other in client.chats()


def test_the_installer_and_the_plugin_list_know_it(installed: LiveHost, client: Client) -> None:
    again = client.install(installed.git_repository()).ok()

    assert again["success"] is False
    assert PLUGIN in again["error"]
