"""The plan in Agent Zero's own page: live while the agent works, changed by a person, a conflict found and settled."""

from __future__ import annotations

from .browser import Tab
from .client import Client
from .model import ScriptedModel, say
from .test_plan import read, replace


def test_a_plan_is_followed_changed_and_its_conflict_settled(client: Client, model: ScriptedModel, tab: Tab) -> None:
    chat = client.new_chat()
    model.script(replace(0, "build", "upload"))
    held = model.hold(say("Planned."))
    page = tab.open(chat).page
    client.send(chat, "Plan the site")
    held.wait_arrived()
    tab.see("0 of 2 done")  # while the agent works
    tab.picture("plan-line")
    page.get_by_role("button", name="Publish the site").click()
    page.get_by_role("checkbox", name="do build").check()
    client.wait("the person's revision", lambda: read(client, chat)["document"]["revision"] == 2)
    page.get_by_role("button", name="Move down: do build").click()
    client.wait("the new order", lambda: read(client, chat)["document"]["revision"] == 3)
    held.release()
    tab.see("Planned.")
    width = "document.querySelector('.rxp-body').getBoundingClientRect().width / document.querySelector('#progress-bar-box').clientWidth"
    page.wait_for_function(f"{width} > 0.9")  # open it has a row of its own
    tab.picture("plan-open")
    model.script(replace(1, "build", "upload", "tell"), say("Added."))
    client.ask(chat, "Tell the team too")

    page.get_by_role("button", name="1 conflict").click()
    page.locator(".rxd-compare").wait_for()
    tab.picture("conflict")
    page.get_by_role("button", name="Edit and save").click()
    tab.picture("conflict-merge")
    page.get_by_role("button", name="Save this version").click()
    page.get_by_text("No conflict. This is what is stored.").wait_for()

    found = read(client, chat)
    items = [(item["id"], item["done"]) for item in found["document"]["value"]["items"]]
    assert items == [("upload", False), ("tell", False), ("build", True)]
    assert found["waiting"] == 0
    assert tab.errors == []


def test_a_person_begins_the_plan_that_the_agent_then_reads(client: Client, model: ScriptedModel, tab: Tab) -> None:
    chat = client.new_chat()
    model.script(say("Hello there."))
    client.ask(chat, "Hello")
    page = tab.open(chat).page
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_label("New item").fill("Ask Anna")
    page.keyboard.press("Enter")
    client.wait("the person's plan", lambda: read(client, chat)["document"]["revision"] == 1)

    assert read(client, chat)["document"]["value"]["items"][0]["text"] == "Ask Anna"
    assert tab.errors == []
