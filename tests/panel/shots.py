"""Pictures of every state of Recovery on the small host: `python -m tests.panel.shots [folder] [words]` (make shots).

They are for looking at: each state in dark and light, wide and narrow. Words choose states by name.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from refhost.world import World
from tests.conftest import FLAGS, NAMES
from tests.panel.browser.conftest import Panel, Site
from tests.panel.browser.test_safety import settings
from tests.panel.browser.test_states import STATES, drawn
from tests.panel.support.stand_in import build

SIZES = {"wide": (1280, 860), "narrow": (360, 780)}


def main() -> int:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/shots").resolve()
    words = sys.argv[2:]
    found = [path for name in (os.environ.get("CHROMIUM", ""), *NAMES) if name and (path := shutil.which(name))]
    if not found:
        print("There is no Chromium on PATH; CHROMIUM=/path/to/chromium names one.", file=sys.stderr)
        return 2
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="durable-shots-") as folder:
        plugin = build(Path(folder) / "plugin")
        with World(Path(folder) / "world", plugin=plugin, page=True).start() as world, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found[0], args=list(FLAGS))
            site = Site(world.url, world.client())
            for theme in ("dark", "light"):
                for size in SIZES:
                    _take(browser, site, target, theme, size, words)
            browser.close()
    print(f"{len(list(target.glob('*.png')))} pictures in {target}")
    return 0


def _take(browser: Browser, site: Site, target: Path, theme: str, size: str, words: list[str]) -> None:
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, locale="en-GB", timezone_id="UTC")
    context.add_init_script(f"localStorage.setItem('darkMode', '{str(theme == 'dark').lower()}')")
    context.set_default_timeout(30_000)
    panel = Panel(context.new_page(), site).visit()
    for draw in STATES:
        if words and not any(word in draw.__name__ for word in words):
            continue
        with drawn(draw, panel, site):
            panel.still()
            panel.page.screenshot(path=target / f"{draw.__name__}-{theme}-{size}.png")
    if not words or any(word in "settings" for word in words):
        site.scene()
        settings(panel).page.get_by_role("button", name="Run the doctor").click()
        panel.page.get_by_role("heading", name="What the doctor saw").wait_for()
        panel.still()
        panel.page.screenshot(path=target / f"settings-{theme}-{size}.png")
    context.close()


if __name__ == "__main__":
    sys.exit(main())
