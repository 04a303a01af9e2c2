"""The reference host's page keeps the contract that a plugin's page relies on: stores, components, points, modals, toasts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from refhost.model import Model, answer, use
from refhost.world import World

pytestmark = pytest.mark.browser

STORE = """
import { createStore } from "/js/AlpineStore.js";
export const store = createStore("probe", {
  text: "made", seen: 0,
  open() { this.text = "opened"; },
  close() { this.text = "closed"; },
});
"""
WITH_STORE = '<script type="module">import { store } from "/plugins/probe/webui/store.js";</script>'
FILES = {
    "webui/store.js": STORE,
    "webui/style.css": ".probe-body { outline: 3px solid red; }",
    "webui/inner.html": """<div x-data><i id="probe-inner" x-text="'in' + 'ner'"></i></div>""",
    "webui/main.html": f"""<html class="probe-modal"><head><title>Probe</title>
        <link rel="stylesheet" href="/plugins/probe/webui/style.css">{WITH_STORE}</head>
        <body class="probe-body"><div x-data x-create="$store.probe.open()" x-destroy="$store.probe.close()">
        <p id="probe-text" x-text="$store.probe.text"></p><x-component path="/plugins/probe/webui/inner.html"></x-component>
        <div data-modal-footer><button class="btn btn-ok">Yes</button></div></div></body></html>""",
    "extensions/webui/sidebar-quick-actions-dropdown-start/entry.html": f"""<html><head>{WITH_STORE}</head><body><div x-data>
        <button id="probe-entry" class="dropdown-item" x-move-after="#sidebar-files-dropdown"
        @click="ensureModalOpen('/plugins/probe/webui/main.html'); $store.sidebar.menuClose()">Probe</button></div></body></html>""",
    "extensions/webui/sidebar-quick-actions-main-end/count.html": '<div x-data><b id="probe-count" x-text="$store.probe?.seen"></b></div>',
    "extensions/webui/chat-input-progress-start/strip.html": '<div x-data><b id="probe-strip" x-text="$store.chats.selected"></b></div>',
    "extensions/webui/apply_snapshot_before/seen.js": """import { store } from "/plugins/probe/webui/store.js";
        export default (ctx) => { store.seen = ctx.snapshot.contexts.length; };""",
    "extensions/webui/fetch_api_call_before/nudge.js": """export default (ctx) => {
        if (ctx.apiUrl !== "/api/nudge") return;
        toastFrontendInfo("<b>not sent</b>");
        ctx.response = new Response("{}", { status: 200 }); };""",
    "extensions/python/banners/_50_probe.py": """from helpers.extension import Extension
class Probe(Extension):
    def execute(self, banners=None, **kwargs):
        banners.append({"id": "p", "type": "warning", "title": "Look", "html": "<a href='#'>here</a>"})
""",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Model.start(tmp_path / "model") as model, World(tmp_path / "world", model=model, plugin=None, page=True) as world:
        model.script(use("effect", arg="a"), answer("see <b>this</b>", chunk=5), repeat=True)
        world.add_plugin("probe", FILES)
        yield world.start()


@pytest.fixture
def page(world: World, chromium: Browser) -> Iterator[Page]:
    with chromium.new_context() as context:
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(world.url)
        page.wait_for_selector(".banner a")
        yield page
        # The browser's own word for a server that is down, or a token from before its restart.
        assert [text for text in complaints if not text.startswith("Failed to load resource")] == []


def send(page: Page, text: str) -> None:
    page.fill("#chat-input", text)
    page.press("#chat-input", "Enter")
    page.wait_for_selector(".is-response >> text=see <b>this</b>")


def test_a_message_is_answered_as_text(page: Page) -> None:
    send(page, "hello")

    expect(page.locator(".is-user .bubble")).to_have_text("hello")
    expect(page.locator(".is-response b")).to_have_count(0)
    expect(page.locator(".is-tool summary")).to_have_count(1)


def test_points_are_filled_and_stores_are_shared(page: Page) -> None:
    send(page, "hello")

    page.wait_for_selector("#probe-count >> text=1")
    expect(page.locator("#probe-strip")).to_have_text(page.evaluate("Alpine.store('chats').selected"))


def test_a_modal_has_its_title_classes_style_parts_and_footer(page: Page) -> None:
    page.click("#header-more")
    page.click("#sidebar-files-dropdown + #probe-entry")

    page.wait_for_selector("#probe-text >> text=opened")
    page.wait_for_selector("#probe-inner >> text=inner")
    page.wait_for_selector(".modal-inner.probe-modal .modal-footer-slot .btn-ok")
    expect(page.locator(".modal-title")).to_have_text("Probe")
    expect(page.locator(".modal-bd.probe-body")).to_have_css("outline-style", "solid")
    page.keyboard.press("Escape")
    page.wait_for_selector(".modal", state="detached")
    page.wait_for_function("Alpine.store('probe').text === 'closed'")


def test_an_extension_can_answer_a_request_and_toasts_are_html(page: Page) -> None:
    send(page, "hello")

    page.click("#nudges_window")

    page.wait_for_selector(".toast-message b >> text=not sent")
    expect(page.locator(".is-info")).to_have_count(0)


def test_an_open_page_goes_on_after_a_restart(page: Page, world: World) -> None:
    send(page, "hello")

    world.kill()
    page.wait_for_selector("text=Not connected")
    world.start()

    page.wait_for_selector("text=Not connected", state="detached")
    page.wait_for_selector(".is-response >> text=see <b>this</b>")
    expect(page.locator(".is-user")).to_have_count(1)
