"""A hold is found, read and decided with the keyboard alone, and the focus is never lost."""

from __future__ import annotations

import pytest

from .conftest import Panel, Site

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
    assert panel.focused() == "rx-heading"
    press("Tab")
    assert panel.focused() == "rx-tab-needs_you"
    press("Tab")  # look again
    press("Tab")
    assert panel.focused() == "rx-card-run_push"
    press("Enter")
    panel.one("#rx-form").wait_for()
    panel.page.wait_for_function("document.activeElement.id === 'rx-run-title'")

    while panel.focused() != "rx-choice-0":
        press("Tab")
    press("Space")
    press("Tab")
    assert panel.focused() == "rx-note"
    panel.page.keyboard.type("The commit is on the remote.")
    while "Record: it happened" not in str(panel.page.evaluate("document.activeElement.textContent")):
        press("Tab")
    press("Enter")

    panel.page.get_by_text("Nothing is waiting.").first.wait_for()
    (said,) = site.asked("recovery_decide")
    assert (said["decision"], said["note"]) == ("confirmed_completed", "The commit is on the remote.")
    assert panel.focused() == "rx-heading"


def test_tab_stays_inside_in_both_directions(panel: Panel) -> None:
    panel.open("run_push")
    seen = set()
    for key in ["Tab"] * 45 + ["Shift+Tab"] * 45:
        panel.page.keyboard.press(key)
        seen.add(panel.focused())
        assert panel.page.evaluate("document.activeElement.closest('.modal-inner') !== null"), key

    assert "rx-note" in seen


def test_closing_gives_the_focus_back_to_the_door(panel: Panel, site: Site) -> None:
    site.hold(site.chat(), "run_push")
    panel.one(".durable-counter").click()
    panel.one("#rx-card-run_push").wait_for()

    panel.page.keyboard.press("Escape")

    panel.one(".rx").wait_for(state="detached")
    assert "durable-counter" in str(panel.page.evaluate("document.activeElement.className"))


def test_from_the_menu_the_focus_goes_back_to_the_menu_button(panel: Panel) -> None:
    panel.one("#header-more").click()
    panel.one("#durable-recovery-dropdown").click()
    panel.one("#rx-card-run_push").wait_for()

    panel.one(".modal-close").click()

    panel.one(".rx").wait_for(state="detached")
    assert panel.focused() == "header-more"


def test_escape_loses_nothing_that_was_typed(panel: Panel) -> None:
    panel.open("run_push")
    panel.choose("It happened")
    panel.one("#rx-note").fill("Half a thought")

    panel.page.keyboard.press("Escape")
    panel.one(".rx").wait_for(state="detached")
    panel.open("run_push")

    assert panel.one("#rx-note").input_value() == "Half a thought"
    assert panel.page.get_by_role("radio", name="It happened").is_checked()


def test_back_returns_to_the_card(panel: Panel) -> None:
    panel.open()
    panel.one("#rx-card-run_two").click()
    panel.one(".rx-run").wait_for()

    panel.page.get_by_role("button", name="Back", exact=True).click()

    panel.page.wait_for_function("document.activeElement.id === 'rx-card-run_two'")


def test_arrows_move_between_tabs_and_there_is_one_tab_stop(panel: Panel) -> None:
    panel.open()
    panel.one("#rx-tab-needs_you").focus()

    panel.page.keyboard.press("ArrowRight")

    panel.one("#rx-card-run_done").wait_for()
    assert panel.focused() == "rx-tab-all"
    assert panel.one("#rx-tab-all").get_attribute("aria-selected") == "true"
    assert panel.one("#rx-tab-needs_you").get_attribute("tabindex") == "-1"


def test_a_choice_that_is_not_on_offer_can_be_read_but_not_taken(panel: Panel) -> None:
    panel.open("run_push")
    resume = panel.page.get_by_role("radio", name="Resume")
    panel.choose("Start the step over")

    panel.page.keyboard.press("ArrowDown")

    assert panel.focused() == resume.get_attribute("id")
    assert resume.get_attribute("aria-disabled") == "true"
    assert not resume.is_checked()
    assert panel.page.evaluate("Alpine.store('recovery').draft.decision") == "new_attempt"


def test_the_focus_stays_in_the_dialog_when_its_button_goes_away(panel: Panel, site: Site) -> None:
    site.scene("finished")
    site.fail("recovery_list", "store_locked")
    panel.open()
    panel.page.get_by_role("button", name="Try again").press("Enter")
    panel.page.get_by_text("Nothing is waiting.").first.wait_for()
    panel.page.wait_for_function("document.activeElement.id === 'rx-heading'")

    panel.page.get_by_role("button", name="See all runs").press("Enter")

    panel.one("#rx-card-run_done").wait_for()
    panel.page.wait_for_function("document.activeElement.id === 'rx-tab-all'")


def test_what_is_missing_gets_the_focus_and_is_described(panel: Panel) -> None:
    panel.open("run_push")
    panel.submit()
    panel.page.wait_for_function("document.activeElement.id === 'rx-choice-0'")
    panel.choose("It did not happen")
    panel.submit()
    panel.page.wait_for_function("document.activeElement.id === 'rx-note'")

    note = panel.one("#rx-note")
    assert note.get_attribute("aria-invalid") == "true"
    assert "rx-note-error" in str(note.get_attribute("aria-describedby"))
    assert panel.one("#rx-note-error").inner_text() == "Write how you know. This is kept with the run."
    assert panel.page.get_by_role("alert").inner_text() == "Write how you know. This is kept with the run."


def test_the_dialog_has_a_role_a_name_and_a_close_button_with_words(panel: Panel) -> None:
    panel.open()

    dialog = panel.page.get_by_role("dialog", name="Recovery")
    assert dialog.get_attribute("aria-modal") == "true"
    assert dialog.get_by_role("button", name="Close").is_visible()


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
