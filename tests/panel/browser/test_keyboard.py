"""A hold is found, read and decided with the keyboard alone, and the focus is never lost."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import Panel, Site, late

pytestmark = pytest.mark.browser


def test_a_hold_is_found_and_decided_with_the_keyboard_alone(panel: Panel, site: Site) -> None:
    site.scene("push")
    site.hold(site.chat(), "run_push")
    counter = panel.one(".durable-counter")
    counter.wait_for()
    press = panel.page.keyboard.press

    counter.focus()
    press("Enter")
    panel.one("#rx-card-run_push").wait_for()
    panel.focus_on("rx-heading")
    press("Tab")
    panel.focus_on("rx-tab-needs_you")
    press("Tab")  # look again
    press("Tab")
    panel.focus_on("rx-card-run_push")
    press("Enter")
    panel.one("#rx-form").wait_for()
    panel.focus_on("rx-run-title")

    panel.still().press_until("Tab", "at.id === 'rx-choice-0'")
    press("Space")
    press("Tab")
    panel.focus_on("rx-note")
    panel.page.keyboard.type("The commit is on the remote.")
    panel.page.get_by_role("button", name="Record: it happened").wait_for()
    panel.press_until("Tab", "at.textContent.includes('Record: it happened')")
    press("Enter")

    panel.page.get_by_text("Nothing is waiting.").first.wait_for()
    (said,) = site.asked("recovery_decide")
    assert (said["decision"], said["note"]) == ("confirmed_completed", "The commit is on the remote.")
    panel.focus_on("rx-heading")


def test_tab_stays_inside_in_both_directions(panel: Panel) -> None:
    panel.open("run_push")
    seen = set()
    for key in ["Tab"] * 45 + ["Shift+Tab"] * 45:
        panel.page.keyboard.press(key)
        at, inside = panel.page.evaluate("[document.activeElement.id, document.activeElement.closest('.modal-inner') !== null]")
        assert inside, key
        seen.add(at)

    assert "rx-note" in seen


def test_closing_gives_the_focus_back_to_the_door(panel: Panel, site: Site) -> None:
    site.hold(site.chat(), "run_push")
    panel.one(".durable-counter").click()
    panel.one("#rx-card-run_push").wait_for()

    panel.page.keyboard.press("Escape")

    panel.one(".rx").wait_for(state="detached")
    expect(panel.one(".durable-counter")).to_be_focused()


def test_from_the_menu_the_focus_goes_back_to_the_menu_button(panel: Panel) -> None:
    panel.one("#header-more").click()
    panel.one("#durable-recovery-dropdown").click()
    panel.one("#rx-card-run_push").wait_for()

    panel.one(".modal-close").click()

    panel.one(".rx").wait_for(state="detached")
    panel.focus_on("header-more")


def test_escape_loses_nothing_that_was_typed(panel: Panel) -> None:
    panel.open("run_push")
    panel.choose("It happened")
    panel.one("#rx-note").fill("Half a thought")

    panel.page.keyboard.press("Escape")
    panel.one(".rx").wait_for(state="detached")
    panel.open("run_push")

    expect(panel.one("#rx-note")).to_have_value("Half a thought")
    expect(panel.page.get_by_role("radio", name="It happened")).to_be_checked()


def test_back_returns_to_the_card(panel: Panel) -> None:
    panel.open()
    panel.one("#rx-card-run_two").click()
    panel.one(".rx-run").wait_for()

    panel.page.get_by_role("button", name="Back", exact=True).click()

    panel.focus_on("rx-card-run_two")


def test_a_run_that_arrives_late_takes_no_focus_away(panel: Panel) -> None:
    panel.open()
    with late(panel, "recovery_run"):
        panel.one("#rx-card-run_two").click()
        panel.focus_on("rx-run-title")
        panel.one("#rx-tab-all").focus()
    panel.one("#rx-form").wait_for()

    panel.still().focus_on("rx-tab-all")


def test_arrows_move_between_tabs_and_there_is_one_tab_stop(panel: Panel) -> None:
    panel.open()
    panel.one("#rx-tab-needs_you").focus()

    panel.page.keyboard.press("ArrowRight")

    panel.one("#rx-card-run_done").wait_for()
    panel.focus_on("rx-tab-all")
    expect(panel.one("#rx-tab-all")).to_have_attribute("aria-selected", "true")
    expect(panel.one("#rx-tab-needs_you")).to_have_attribute("tabindex", "-1")


def test_a_choice_that_is_not_on_offer_can_be_read_but_not_taken(panel: Panel) -> None:
    panel.open("run_push")
    resume = panel.page.get_by_role("radio", name="Resume")
    panel.choose("Start the step over")

    panel.page.keyboard.press("ArrowDown")

    expect(resume).to_be_focused()
    expect(resume).to_have_attribute("aria-disabled", "true")
    expect(resume).not_to_be_checked()
    assert panel.page.evaluate("Alpine.store('recovery').draft.decision") == "new_attempt"


def test_the_focus_stays_in_the_dialog_when_its_button_goes_away(panel: Panel, site: Site) -> None:
    site.scene("finished")
    site.fail("recovery_list", "store_locked")
    panel.open()
    panel.page.get_by_role("button", name="Try again").press("Enter")
    panel.page.get_by_text("Nothing is waiting.").first.wait_for()
    panel.focus_on("rx-heading")

    panel.page.get_by_role("button", name="See all runs").press("Enter")

    panel.one("#rx-card-run_done").wait_for()
    panel.focus_on("rx-tab-all")


def test_what_is_missing_gets_the_focus_and_is_described(panel: Panel) -> None:
    panel.open("run_push")
    panel.submit()
    panel.focus_on("rx-choice-0")
    panel.choose("It did not happen")
    panel.submit()
    panel.focus_on("rx-note")

    note = panel.one("#rx-note")
    expect(note).to_have_attribute("aria-invalid", "true")
    expect(note).to_have_attribute("aria-describedby", re.compile("rx-note-error"))
    expect(panel.one("#rx-note-error")).to_have_text("Write how you know. This is kept with the run.")
    expect(panel.page.get_by_role("alert").first).to_have_text("Write how you know. This is kept with the run.")


def test_the_dialog_has_a_role_a_name_and_a_close_button_with_words(panel: Panel) -> None:
    panel.open()

    dialog = panel.page.get_by_role("dialog", name="Recovery")
    expect(dialog).to_have_attribute("aria-modal", "true")
    expect(dialog.get_by_role("button", name="Close")).to_be_visible()


def test_text_alone_tells_a_screen_reader_what_is_asked(panel: Panel) -> None:
    panel.open("run_push")
    panel.one("#rx-preview-title").wait_for()  # a part of the page with a file of its own

    tree = panel.one(".rx-detail").aria_snapshot()

    for words in (
        'heading "Deploy notes for Friday"',
        "On hold",
        "A step was started; no result was saved. It may have happened. Nothing was repeated.",
        'heading "The command may still be running."',
        'button "4 shell or code git push origin main Held 13:41 Started, no result saved" [expanded]',
        'group "Your decision about step 4"',
        'radio "It happened The step counts as done. It will not run."',
        'radio "Resume Not available: step 4 is still unknown." [disabled]',
        'region "What will happen"',
        'textbox "How do you know?"',
        'button "Record decision"',
        "decides version 12",
    ):
        assert words in tree, tree
