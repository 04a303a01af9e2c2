"""The ways in: menu, counter, strip, badge; and the nudge that a held chat does not get."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.panel.support.canned import NASTY, push

from .conftest import PANEL, Panel, Site

pytestmark = pytest.mark.browser


def test_doors_of_a_hold_appear_with_it_and_go_with_it(tab: Callable[..., Panel], site: Site) -> None:
    held, plain = site.chat(), site.chat()
    site.hold(held, "run_push", "Step 4 was started; no result was saved.", name="Deploy notes for Friday")
    panel = tab(chat=held)
    strip = panel.one(".durable-strip")
    expect(strip).to_contain_text("Paused for your decision")
    expect(strip).to_contain_text("Step 4 was started; no result was saved.")
    badge = (
        panel.one(
            ".chat-container",
        )
        .filter(has_text="Deploy notes for Friday")
        .get_by_role("img", name="On hold, needs your decision")
    )
    badge.wait_for()

    panel.page.evaluate("chat => Alpine.store('chats').selectChat(chat)", plain)
    strip.wait_for(state="detached")
    site.hold(held, "")
    badge.wait_for(state="detached")


def test_the_counter_says_how_many_runs_need_a_person(tab: Callable[..., Panel], site: Site) -> None:
    chats = [site.chat(), site.chat()]
    panel = tab()
    marks = [chat.get("_durable_execution") or {} for chat in site.client.poll()["contexts"]]
    before = len({mark["run_id"] for mark in marks if mark})
    for at, chat in enumerate(chats):
        site.hold(chat, f"run_counted_{at}")

    panel.page.get_by_role("button", name=f"Recovery, {before + 2} runs need you").wait_for()
    for chat in chats:
        site.hold(chat, "")


def test_the_strip_opens_its_own_run(tab: Callable[..., Panel], site: Site) -> None:
    chat = site.chat()
    site.hold(chat, "run_two")
    panel = tab(chat=chat)

    panel.page.get_by_role("button", name="Review").click()

    panel.page.get_by_role("heading", name="Move the archive").wait_for()
    panel.focus_on("rx-run-title")
    site.hold(chat, "")


def test_a_warning_in_the_chat_leads_to_its_step_and_the_step_back_to_it(tab: Callable[..., Panel], site: Site) -> None:
    chat = site.chat()
    site.stage("warn", chat=chat, id="durable-hold-run_two-call_3", text=NASTY)
    panel = tab(chat=chat)

    panel.page.get_by_role("button", name="Show in Recovery").click()

    panel.focus_on("rx-row-call_3")
    panel.page.get_by_text("Your decision about step 3").wait_for()
    expect(panel.one("#rx-row-call_3")).to_have_attribute("aria-expanded", "true")
    panel.page.evaluate("chat => { Alpine.store('recovery').detail.run.chat_id = chat; }", chat)
    panel.one("#rx-call-call_3").get_by_role("button", name="Show this step in the chat").click()
    panel.one(".rx").wait_for(state="detached")
    panel.focus_on("message-durable-hold-run_two-call_3")
    expect(panel.one("img[src=x]")).to_have_count(0)


def test_a_held_chat_is_not_nudged_and_the_server_is_not_asked(tab: Callable[..., Panel], site: Site) -> None:
    chat, other = site.chat(), site.chat()
    site.hold(chat, "run_push")
    panel = tab(chat=chat)
    panel.one(".durable-strip").wait_for()
    sent: list[str] = []
    panel.page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/api/nudge") else None)

    panel.one("#nudges_window").click()
    panel.page.get_by_text("so it was not nudged").first.wait_for()
    assert sent == []

    site.hold(chat, "")
    panel.one(".durable-strip").wait_for(state="detached")
    panel.page.evaluate("chat => Alpine.store('chats').selectChat(chat)", other)
    with panel.page.expect_request("**/api/nudge"):
        panel.one("#nudges_window").click()


def test_names_from_a_run_are_text_at_every_door(tab: Callable[..., Panel], site: Site) -> None:
    chat = site.chat()
    site.hold(chat, "run_push", NASTY, name=NASTY)
    panel = tab(chat=chat)
    panel.one(".durable-strip").wait_for()
    site.scene(more=[push("run_push", NASTY), push("run_other", NASTY)])
    panel.open("run_push")

    expect(panel.one(".durable-strip")).to_contain_text(NASTY)
    expect(panel.one("#rx-run-title")).to_have_text(NASTY)
    expect(panel.one("#rx-card-run_other .rx-name")).to_have_text(NASTY)
    panel.one("#rx-tab-all").click()
    panel.one("#rx-search").fill("img")
    panel.one("#rx-card-run_other").wait_for()
    panel.close()
    panel.page.evaluate("Alpine.store('chats').selectChat(''), Alpine.store('page').loadBanners()")
    panel.one(".welcome").wait_for()
    assert panel.one("img[src=x]").count() == 0
    assert panel.page.evaluate("window.__broken") is None
    site.hold(chat, "", name="plain")


def test_a_closed_panel_asks_the_server_nothing(tab: Callable[..., Panel], site: Site) -> None:
    panel = tab()
    site.hold(chat := site.chat(), "run_push")
    panel.one(".durable-counter").wait_for()

    assert site.stage("look") == []
    site.hold(chat, "")


def test_while_it_is_off_only_the_status_is_asked(panel: Panel, site: Site) -> None:
    site.scene(off={"code": "off", "files": [], "text": ""})
    panel.page.evaluate("path => void openModal(path)", PANEL)
    panel.page.get_by_role("heading", name="Durable Execution is off.").wait_for()

    assert {name for name, _ in site.stage("look")} == {"status"}


def test_closing_leaves_no_timer_and_no_global(tab: Callable[..., Panel]) -> None:
    panel = tab()
    panel.page.add_init_script(
        """(() => {
          window.__timers = new Set();
          const [set, clear] = [window.setInterval, window.clearInterval];
          window.setInterval = (...how) => { const id = set(...how); window.__timers.add(id); return id; };
          window.clearInterval = (id) => { window.__timers.delete(id); clear(id); };
          const [later, never] = [window.setTimeout, window.clearTimeout];
          window.__waits = new Set();
          window.setTimeout = (run, ms, ...how) => {
            const id = later((...said) => { window.__waits.delete(id); run(...said); }, ms, ...how);
            if (String(new Error().stack).includes('durable_execution')) window.__waits.add(id);
            return id;
          };
          window.clearTimeout = (id) => { window.__waits.delete(id); never(id); };
        })()"""
    )
    panel.visit()
    panel.page.wait_for_function("[...document.querySelectorAll('x-component')].every((part) => part.childElementCount)")
    timers, names = panel.still().page.evaluate("[window.__timers.size, Object.keys(window)]")
    panel.open("run_push")
    panel.page.wait_for_function("before => window.__timers.size === before + 1", arg=timers)
    panel.one("#rx-tab-all").click()
    panel.one("#rx-search").wait_for()
    waits = panel.page.evaluate(  # in one step: the pause that the search waits for would be over before the next
        """path => {
          const box = document.querySelector('#rx-search');
          box.value = 'words that wait for a pause';
          box.dispatchEvent(new Event('input', { bubbles: true }));
          closeModal(path);
          return window.__waits.size;
        }""",
        PANEL,
    )
    panel.one(".rx").wait_for(state="detached")

    assert waits == 1
    panel.page.wait_for_function("before => window.__timers.size === before && window.__waits.size === 0", arg=timers)
    assert panel.page.evaluate("Object.keys(window)") == names


def test_the_chat_of_a_run_can_be_opened(tab: Callable[..., Panel], site: Site) -> None:
    chat, other = site.chat(), site.chat()
    panel = tab(chat=other)
    panel.page.wait_for_function("chat => Alpine.store('chats').contexts.some((one) => one.id === chat)", arg=chat)
    panel.open("run_push")
    expect(panel.page.get_by_role("button", name="Open chat")).to_have_count(0)
    panel.page.evaluate("chat => { Alpine.store('recovery').detail.run.chat_id = chat; }", chat)

    panel.page.get_by_role("button", name="Open chat").click()

    panel.one(".rx").wait_for(state="detached")
    panel.page.wait_for_function("chat => Alpine.store('chats').selected === chat", arg=chat)
