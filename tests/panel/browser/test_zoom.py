"""Enlarged to 200 and 400 %, with wider text, and in grey: nothing is cut off, nothing scrolls sideways, nothing needs a colour."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import Panel, Site

pytestmark = pytest.mark.browser

# A page zoomed to 200 or 400 % on a screen of 1280 by 1024 has the room of a small one (WCAG 1.4.10).
ZOOMED = [(640, 512), (320, 256)]
SPACING = "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; } p { margin-bottom: 2em; }"


@pytest.mark.parametrize(("width", "height"), ZOOMED, ids=["200%", "400%"])
def test_enlarged_it_is_one_column_and_every_control_can_be_reached(tab: Callable[..., Panel], site: Site, width: int, height: int) -> None:
    panel = tab(width, height)
    site.scene("push", "report", "cut_off")
    for run_id in ("", "run_push"):
        panel.open(run_id)
        assert panel.overflow() == []
        assert panel.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        panel.close()
    panel.open("run_push")
    panel.choose("It happened")
    for selector in ("#rx-choice-4", "#rx-note", ".rx-record", ".rx-foreseen-row >> nth=0", ".rx-call-row >> nth=0"):
        panel.one(selector).scroll_into_view_if_needed()
        expect(panel.one(selector), selector).to_be_visible()


def test_wider_text_is_not_cut_off(tab: Callable[..., Panel]) -> None:
    panel = tab(360, 740)
    panel.page.add_style_tag(content=SPACING)
    panel.open("run_push")
    panel.choose("Start the step over")

    assert panel.overflow() == []
    cut = panel.page.evaluate(
        """() => [...document.querySelectorAll('.rx :is(p, h3, h4, label, button, .rx-call-status, .rx-foreseen-text)')]
          .filter((element) => element.getClientRects().length && !element.closest('.rx-sr'))
          .filter((element) => element.scrollHeight > element.clientHeight + 2 && getComputedStyle(element).overflowY === 'hidden')
          .map((element) => element.className)"""
    )
    assert cut == []


def test_a_state_is_never_told_by_colour_alone(panel: Panel, site: Site) -> None:
    site.scene("went_on")
    panel.open("run_long")
    panel.page.get_by_role("button", name="Show steps 1 to 4, with saved results").click()
    expect(panel.one(".rx-call")).to_have_count(15)
    panel.still()

    rows = panel.page.evaluate(
        """() => [...document.querySelectorAll('.rx-call')].map((row) => [
          row.dataset.tone, row.querySelector('.rx-mark').textContent.trim(), row.querySelector('.rx-marks').innerText.trim()])"""
    )
    shapes = {tone: {icon for each, icon, _ in rows if each == tone} for tone, _, _ in rows}
    assert all(word for _, _, word in rows)
    assert not shapes["ok"] & shapes["hold"]
    assert not shapes["ok"] & shapes["danger"]
