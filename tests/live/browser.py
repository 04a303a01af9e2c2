"""A real Chromium with a fresh profile, used as a person uses the page.

Owns the browser and what it complained about. It reads the page, never the host's process.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, expect, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOST_OWN = ("self-update info", "Directory not found")  # the page of a host that is not in its container
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


class Tab:
    """One open page of the host."""

    def __init__(self, page: Page, url: str, pictures: Path) -> None:
        self.page = page
        self.errors: list[str] = []
        self._url, self._pictures = url, pictures
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _console(self, message: ConsoleMessage) -> None:
        # Fonts and pictures from the network cannot be had here, and a killed server refuses connections.
        text = message.text
        if message.type == "error" and "net::ERR_" not in text and not any(own in text for own in HOST_OWN):
            self.errors.append(text)

    def open(self, chat: str) -> Tab:
        self.page.goto(f"{self._url}/?ctxid={chat}")
        self.page.locator("#chat-input").wait_for(timeout=60_000)
        self.see("Hello!")  # the greeting of each chat: the page loses a bubble that comes before it has drawn this
        return self

    def send(self, text: str) -> None:
        self.page.locator("#chat-input").fill(text)
        self.page.locator("#send-button").click()

    def see(self, text: str, seconds: float = 30.0) -> None:
        """Wait until the text is visible somewhere on the page."""
        self.page.get_by_text(text).first.wait_for(timeout=seconds * 1000)

    def see_once(self, text: str) -> None:
        """Wait until exactly one bubble of the conversation carries exactly this text."""
        bubbles = self.page.locator(".message-user .message-text, .message-agent-response .message-body")
        expect(bubbles.filter(has_text=re.compile(rf"^\s*{re.escape(text)}\s*$"))).to_have_count(1)

    def picture(self, name: str) -> Path:
        self._pictures.mkdir(parents=True, exist_ok=True)
        path = self._pictures / f"{name}.png"
        self.page.screenshot(path=path)
        return path


class Browser:
    def __init__(self, pictures: Path) -> None:
        self._pictures = pictures
        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(executable_path=find_chromium(), headless=True, args=list(FLAGS))

    @contextmanager
    def tab(self, url: str, *, width: int = 1280, height: int = 900) -> Iterator[Tab]:
        """A page with its own cookies and storage."""
        context = self._chromium.new_context(viewport={"width": width, "height": height})
        try:
            yield Tab(context.new_page(), url, self._pictures)
        finally:
            context.close()

    def close(self) -> None:
        self._chromium.close()
        self._playwright.stop()


def find_chromium() -> str:
    for name in (os.environ.get("CHROMIUM", ""), *NAMES):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise RuntimeError("There is no Chromium on PATH; CHROMIUM=/path/to/chromium names one.")
