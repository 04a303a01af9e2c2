"""What a person sees in the page: the open tab after a restart, the repeated message, the panel."""

from __future__ import annotations

import uuid

from .browser import Tab
from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import NOTE, Recovery


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
    assert tab.count("Write the file") == 1
    tab.picture("held")
    model.script(say("Finished in the same tab."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    tab.see("Finished in the same tab.")
    assert tab.count("Write the file") == 1


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
    assert tab.count("Say it once") == 1
    assert tab.count("Said once.") == 1
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
