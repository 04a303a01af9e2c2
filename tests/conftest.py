"""Gives the checkout the names it has in Agent Zero, whatever its folder is called.

`usr.plugins.durable_execution` is this checkout, as the host would see it, and
`journal`, `refhost` and `tests` can be imported. Nothing is stubbed here: a test that
needs a host starts one in a process of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PLUGIN = "usr.plugins.durable_execution"


def _install_name() -> None:
    """Make the plugin's dotted name a namespace whose last part is the checkout."""
    parent: types.ModuleType | None = None
    dotted = ""
    for part in PLUGIN.split("."):
        dotted = f"{dotted}.{part}".lstrip(".")
        module = sys.modules.get(dotted)
        if module is None:
            module = types.ModuleType(dotted)
            module.__path__ = []
            sys.modules[dotted] = module
        if parent is not None:
            setattr(parent, part, module)
        parent = module
    assert parent is not None
    parent.__path__ = [str(CHECKOUT)]


FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
FLAGS += ("--disable-component-update", "--disable-sync")
PATIENCE_MS = 30_000  # what a page is drawn in on a slow machine with much else to do
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: what drives the browser leaves a loop running in this thread, and others need one of their own."""
    items.sort(key=lambda item: "chromium" in getattr(item, "fixturenames", ()))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where a run promises to skip nothing, a skip is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("NOTHING_SKIPPED") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One real browser for the whole run: two at once in one process do not get on."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    found = [path for name in (os.environ.get("CHROMIUM", ""), *NAMES) if name and (path := shutil.which(name))]
    if not found:
        pytest.skip("there is no Chromium on PATH; CHROMIUM=/path/to/chromium names one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=list(FLAGS))
        yield browser
        browser.close()


if str(CHECKOUT) not in sys.path:
    sys.path.insert(0, str(CHECKOUT))
_install_name()
