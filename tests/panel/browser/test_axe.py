"""axe-core on the page itself and on a small screen; every state is looked at where it is drawn, in test_states.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Panel, Site

pytestmark = pytest.mark.browser


def test_axe_finds_nothing_on_a_small_screen(tab: Callable[..., Panel], site: Site) -> None:
    panel = tab(360, 740)
    panel.page.emulate_media(reduced_motion="reduce")  # what is half faded in has no contrast of its own
    assert panel.barriers() == [], "the page itself"
    for run_id in ("", "run_push", "run_two"):
        panel.open(run_id)
        assert panel.barriers() == [], run_id or "list"
        panel.close()


def test_the_rules_are_all_that_axe_brings(panel: Panel) -> None:
    """What is checked is not chosen by us."""
    panel.barriers()

    rules, version = panel.page.evaluate("[axe.getRules().length, axe.version]")

    assert rules > 90
    assert version == "4.12.1"
