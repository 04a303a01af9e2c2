"""The panel in a real Chromium, on the small host's page, over the real handlers and a canned service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route, expect

from refhost.client import Client
from refhost.world import World
from tests.conftest import PATIENCE_MS
from tests.panel.support.stand_in import build

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
PANEL = "/plugins/durable_execution/webui/main.html"
ALL = ("push", "report", "two_unknown", "corrupt", "finished")
# Nothing that was asked for is still to come, and nothing that moves to its place is still on its way.
STILL = """() => [...document.querySelectorAll(':is(.rx, .rxs) x-component')].every((part) => part.childElementCount)
  && document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getComputedTiming().iterations === Infinity)"""


class Site:
    """The running host, and what its service answers where that is the canned one."""

    def __init__(self, url: str, client: Client) -> None:
        self.url, self.client = url, client
        self._held: set[str] = set()

    def stage(self, do: str, **what: Any) -> list[list[Any]]:
        return self.client.call("plugins/durable_execution/stage", {"do": do, **what})["asked"]

    def scene(self, *views: str, **what: Any) -> None:
        self.stage("scene", views=views or ALL, **what)

    def fail(self, call: str, code: str, text: str = "", **facts: Any) -> None:
        self.stage("fail", call=call, code=code, text=text, facts=facts)

    def asked(self, name: str) -> list[dict[str, Any]]:
        return [body for called, body in self.stage("look") if called == name]

    def hold(self, chat: str, run_id: str, text: str = "", name: str = "") -> None:
        self.stage("hold", chat=chat, run_id=run_id, text=text, name=name)
        self._held.add(chat)

    def release(self) -> None:
        """A hold that is left behind makes the next page look at everything again when it first hears of it."""
        while self._held:
            self.stage("hold", chat=self._held.pop())

    def chat(self) -> str:
        return self.client.create_chat()


class Panel:
    """One page of the host, used as a person uses it."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page, self.site = page, site
        self.complaints: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _console(self, message: ConsoleMessage) -> None:
        # Chromium itself notes every answer that is no success; refusals are what some tests are about.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def visit(self, chat: str = "") -> Panel:
        self.page.goto(f"{self.site.url}/?ctxid={chat}")
        self.page.locator("#chat-input").wait_for()
        # The menu entry is put in its place only when the page's framework runs.
        self.page.locator("#sidebar-files-dropdown + #durable-recovery-dropdown").wait_for(state="attached")
        return self

    def open(self, run_id: str = "") -> Panel:
        """Open the panel as a door does, and wait until it has what it asked for."""
        self.page.evaluate("run => Alpine.store('recovery').show(null, run)", run_id)
        self.page.locator("#rx-heading").wait_for(state="attached")
        self.page.wait_for_function("['ready', 'error', 'stale'].includes(Alpine.store('recovery').phase)")
        if run_id:
            self.page.locator(".rx-run").wait_for()
        self.focus_on("rx-run-title" if run_id else "rx-heading")
        return self.still()

    def still(self) -> Panel:
        """Wait until the page is drawn as it stays: for looks at all of it, which no single element stands for."""
        self.page.wait_for_function(STILL)
        self.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        return self

    def answered(self) -> Panel:
        """Wait until Recovery has had every answer: a look at the rest may still come after what it shows already."""
        self.page.wait_for_function("!Alpine.store('recovery').refreshing && !window.__asking")
        return self

    def close(self) -> None:
        self.page.evaluate("path => closeModal(path)", PANEL)
        self.page.locator(".rx").wait_for(state="detached")

    def one(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def choose(self, label: str) -> None:
        self.page.get_by_role("radio", name=label, exact=False).first.click()

    def submit(self) -> None:
        self.one(".rx-record").click()

    def focus_on(self, element_id: str) -> None:
        """Wait until the focus is there."""
        expect(self.one(f"#{element_id}")).to_be_focused()

    def press_until(self, key: str, arrived: str) -> None:
        """Press a key until what has the focus answers to that script."""
        for _ in range(200):
            if self.page.evaluate(f"(at => {arrived})(document.activeElement)"):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{key} does not lead to where {arrived}")

    def barriers(self) -> list[dict[str, Any]]:
        """What axe-core says about the whole page as it is drawn now: its default rules, nothing left out."""
        self.still()
        if not self.page.evaluate("typeof axe === 'object'"):
            self.page.evaluate(AXE)
        violations = self.page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((said) => said.violations)")
        return [{"rule": each["id"], "where": [node["html"][:160] for node in each["nodes"]]} for each in violations]

    def overflow(self) -> list[str]:
        """Elements of the panel that stick out of it sideways."""
        self.still()
        return list(
            self.page.evaluate(
                """() => {
                  const edge = document.querySelector('.rx').getBoundingClientRect();
                  return [...document.querySelectorAll('.rx *')].filter((element) => {
                    const box = element.getBoundingClientRect();
                    const hidden = element.closest('.rx-sr') || !box.width || getComputedStyle(element).visibility === 'hidden';
                    return !hidden && (box.right > edge.right + 1 || box.left < edge.left - 1);
                  }).map((element) => `${element.tagName}.${element.className}`);
                }"""
            )
        )


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("panel")
    with World(folder / "world", plugin=build(folder / "plugin"), page=True).start() as world:
        yield Site(world.url, world.client())


@pytest.fixture
def site(running: Site) -> Iterator[Site]:
    running.scene()
    yield running
    running.release()


# How many questions to our own doors are without an answer.
ASKING = """(() => {
  const ask = window.fetch;
  window.__asking = 0;
  window.fetch = async (url, ...how) => {
    if (!String(url).includes('/api/plugins/')) return ask(url, ...how);
    window.__asking += 1;
    return ask(url, ...how).finally(() => (window.__asking -= 1));
  };
})()"""


@contextmanager
def tabs(chromium: Browser, site: Site) -> Iterator[Callable[..., Panel]]:
    """Opens pages; at the end none of them may have complained."""
    panels: list[Panel] = []

    def opened(width: int = 1280, height: int = 900, *, light: bool = False, chat: str = "") -> Panel:
        context = chromium.new_context(viewport={"width": width, "height": height}, locale="en-GB", timezone_id="UTC")
        context.add_init_script(ASKING)
        context.add_init_script(f"localStorage.setItem('darkMode', '{str(not light).lower()}')")
        context.set_default_timeout(PATIENCE_MS)
        panel = Panel(context.new_page(), site)
        panels.append(panel)
        return panel.visit(chat)

    yield opened
    for panel in panels:
        panel.page.wait_for_function("!window.__asking")  # a late question would be one of the next test
    complaints = [line for panel in panels for line in panel.complaints]
    for panel in panels:
        panel.page.context.close()
    assert complaints == []


@pytest.fixture
def tab(chromium: Browser, site: Site) -> Iterator[Callable[..., Panel]]:
    with tabs(chromium, site) as opened:
        yield opened


@pytest.fixture
def panel(tab: Callable[..., Panel]) -> Panel:
    return tab()


@contextmanager
def _caught(panel: Panel, name: str, then: Callable[[Route], None]) -> Iterator[None]:
    pattern = f"**/api/plugins/durable_execution/{name}"
    waiting: list[Route] = []
    over = False
    panel.page.route(pattern, lambda route: route.continue_() if over else waiting.append(route))
    yield
    over = True  # what is asked from now on is not caught any more
    for route in waiting:
        then(route)
    panel.page.unroute(pattern)


def unanswered(panel: Panel, name: str) -> AbstractContextManager[None]:
    """While this lasts, calls of that name get no answer; at the end they are cut off."""
    return _caught(panel, name, lambda route: route.abort())


def late(panel: Panel, name: str) -> AbstractContextManager[None]:
    """While this lasts, calls of that name wait; at the end they go on."""
    return _caught(panel, name, lambda route: route.continue_())
