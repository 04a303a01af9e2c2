"""axe-core finds nothing in any state of Recovery: its default rules, the whole page, nothing left out."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from .conftest import Panel, Site
from .test_states import STATES

pytestmark = pytest.mark.browser

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def found(panel: Panel) -> list[dict[str, Any]]:
    """What axe says about the whole page as it is drawn now."""
    if not panel.page.evaluate("typeof axe === 'object'"):
        panel.page.evaluate(AXE)
    violations = panel.page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((said) => said.violations)")
    return [{"rule": each["id"], "where": [node["html"][:160] for node in each["nodes"]]} for each in violations]


@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
def test_axe_finds_nothing_in_any_state(tab: Callable[..., Panel], site: Site, light: bool) -> None:
    panel = tab(light=light)
    panel.page.emulate_media(reduced_motion="reduce")  # what is half faded in has no contrast of its own
    assert found(panel) == [], "the page itself"
    for draw in STATES:
        site.scene()
        draw(panel, site)
        if panel.one(".rx, .rxs").count():
            assert found(panel) == [], draw.__name__
            panel.close()


def test_axe_finds_nothing_on_a_small_screen(tab: Callable[..., Panel], site: Site) -> None:
    panel = tab(360, 740)
    panel.page.emulate_media(reduced_motion="reduce")
    for run_id in ("", "run_push", "run_two"):
        panel.open(run_id)
        assert found(panel) == [], run_id or "list"
        panel.close()


def test_the_rules_are_all_that_axe_brings(panel: Panel) -> None:
    """What is checked is not chosen by us."""
    found(panel)

    rules, version = panel.page.evaluate("[axe.getRules().length, axe.version]")

    assert rules > 90
    assert version == "4.12.1"
