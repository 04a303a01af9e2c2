"""What a person sees in the page: the open tab after a restart, the repeated message, the panel."""

from __future__ import annotations

import uuid

from playwright.sync_api import expect

from .browser import Tab
from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery

TRAP = "<img src=x onerror=\"document.title='owned'\">"


def test_an_open_tab_redraws_after_the_restart_and_shows_the_hold(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, tab: Tab
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    tab.open(chat).send("Write the file")
    effect.wait_for("start")

    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    run = recovery.held(chat)

    tab.see("Waiting for your decision")
    tab.see_once("Write the file")
    tab.picture("held")
    model.script(say("Finished in the same tab."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    tab.see("Finished in the same tab.")
    tab.see_once("Write the file")


def test_a_repeated_message_has_one_bubble(client: Client, model: ScriptedModel, tab: Tab) -> None:
    chat, ident = client.new_chat(), str(uuid.uuid4())
    tab.open(chat)
    model.script(say("Said once."))
    client.ask(chat, "Say it once", ident)
    tab.see("Said once.")

    client.ask(chat, "Say it once", ident)
    model.script(say("Said later."))
    client.ask(chat, "Say something later")

    tab.see("Said later.")
    tab.see_once("Say it once")
    tab.see_once("Said once.")
    assert tab.errors == []


def test_a_hold_is_found_read_and_decided_in_the_panel(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, tab: Tab
) -> None:
    chat = client.new_chat()
    model.script(effect.gated())
    client.send(chat, "Write the file")
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    recovery.held(chat)
    model.script(say("Finished by the panel."))

    page = tab.open(chat).page
    page.get_by_role("button", name="Review").first.click()
    page.get_by_label("It happened").check()
    page.get_by_label("How do you know?").fill(NOTE)
    tab.picture("decision")
    page.get_by_role("button", name="Record: it happened").click()

    tab.see("Finished by the panel.")
    assert effect.lines == ["start", "end"]
    assert recovery.run(chat)["recorded"][0]["note"] == NOTE
    assert tab.errors == []


def hold(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, text: str, first: str = "", name: str = ""
) -> str:
    """A chat that is held because its server was killed inside a command, which then finished; with a name, once it has it."""
    chat = client.new_chat()
    model.script(effect.gated(first))
    client.send(chat, text)
    effect.wait_for("start")
    if name:
        client.wait("the chat's name", lambda: recovery.runs(chat)[0]["title"] == name)
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    recovery.held(chat)
    return chat


def test_markup_in_a_message_and_a_command_is_text_wherever_the_hold_is_shown(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, tab: Tab
) -> None:
    chat = hold(host, client, model, recovery, effect, TRAP, f": '{TRAP}'; ")
    page = tab.open(chat).page

    tab.see("Waiting for your decision")
    tab.picture("markup-chat")
    warning = page.locator(".process-step, .message-warning").filter(has_text="Waiting for your decision").first
    warning.wait_for()
    if (header := warning.locator(".process-step-header")).count():
        header.click()  # as a step of a group it is folded
    warning.get_by_text(TRAP).first.wait_for()
    page.get_by_role("button", name="Review").first.click()
    page.locator(".rx").get_by_text(TRAP).locator("visible=true").first.wait_for()
    tab.picture("markup")
    client.toggle(False).ok()
    page.get_by_text("nothing protects now").first.wait_for()
    client.toggle(True).ok()

    expect(page.locator("img[src='x']")).to_have_count(0)
    assert page.title() != "owned"
    assert tab.errors == []
    recovery.decide(recovery.held(chat), "stop").ok()


def test_nudging_a_held_chat_says_why_nothing_happens(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, tab: Tab
) -> None:
    chat = hold(host, client, model, recovery, effect, "Write the file")
    page = tab.open(chat).page
    tab.see("Paused for your decision")
    before = client.log(chat)

    page.get_by_role("button", name="Nudge").click()

    tab.see("so it was not nudged")
    assert client.log(chat) == before
    assert len(model.main) == 1
    assert tab.errors == []
    recovery.decide(recovery.held(chat), "stop").ok()


def test_the_switch_of_a_running_plugin_says_why_it_stays_on(
    client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, tab: Tab
) -> None:
    chat = client.new_chat()
    model.script(effect.gated(), say("Recorded to the end."))
    client.send(chat, "Write the file")
    effect.wait_for("start")
    page = tab.open(chat).page

    page.get_by_role("button", name="Plugins", exact=True).click()
    plugin = page.locator(".plugin-card").filter(has_text="Durable Execution")
    plugin.locator(".plugin-status-toggle .toggler").click()

    tab.see("Durable Execution stays on: 1 chat(s) are running. Wait or stop them, then switch it off.")
    tab.picture("stays-on")
    expect(page.get_by_text("Traceback")).to_have_count(0)
    expect(plugin.get_by_text("ON", exact=True)).to_be_visible()
    assert recovery.status()["active"] is True
    effect.let_go()
    client.wait_answer(chat, "Recorded to the end.")
