"""Deciding with someone else around, over a bad connection, and twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import Panel, Site

pytestmark = pytest.mark.browser


def test_of_two_tabs_one_decides_and_the_other_keeps_its_note(tab: Callable[..., Panel], site: Site) -> None:
    first, second = tab().open("run_push"), tab().open("run_push")
    second.choose("It did not happen")
    second.one("#rx-note").fill("I think it did not.")
    first.choose("It happened")
    first.one("#rx-note").fill("Seen on the web page.")

    first.submit()
    first.page.get_by_text("Recorded. The run continues.").first.wait_for()
    second.submit()

    banner = second.one(".rx-stale")
    expect(banner).to_contain_text("decided elsewhere: it happened")
    expect(second.one("#rx-form")).to_have_attribute("inert", "inert")
    second.focus_on("rx-show-latest")
    second.page.keyboard.press("Enter")
    second.page.get_by_role("heading", name="Your note, not recorded").wait_for()
    expect(second.page.get_by_text("I think it did not.")).to_be_visible()
    assert len(site.asked("recovery_decide")) == 2
    assert [said["note"] for said in site.client.call("plugins/durable_execution/recovery_run", {"run_id": "run_push"})["recorded"]] == [
        "Seen on the web page."
    ]


def test_a_form_that_went_stale_keeps_the_note_and_clears_the_choice(panel: Panel, site: Site) -> None:
    panel.open("run_two")
    panel.choose("It happened")
    panel.one("#rx-note").fill("My note.")
    site.client.call(
        "plugins/durable_execution/recovery_decide",
        {
            "run_id": "run_two",
            "version": 9,
            "call_id": "call_3",
            "shown_digest": "d",
            "decision": "new_attempt",
            "ack": True,
            "request_id": "x",
        },
    )

    panel.page.get_by_role("button", name="Look again").click()

    panel.one("#rx-show-latest").click()
    panel.page.get_by_text("decides version 10").wait_for()
    expect(panel.one("#rx-note")).to_have_value("My note.")
    expect(panel.one("#rx-form :checked")).to_have_count(0)
    expect(panel.one(".rx-which")).to_have_count(0)


def test_a_preview_that_is_not_what_would_happen_any_more_is_shown_anew(panel: Panel, site: Site) -> None:
    """A wrong digest, at the same version: a tool's file was replaced while the person read."""
    panel.open("run_push")
    panel.choose("It happened")
    panel.one("#rx-note").fill("Seen.")
    site.fail("recovery_decide", "shown_changed", "What was shown is not what would be decided now.")

    panel.submit()

    panel.one("#rx-show-latest").click()
    panel.page.get_by_text("The latest state is shown. Your note is kept.").wait_for(state="attached")
    expect(panel.one("#rx-note")).to_have_value("Seen.")
    expect(panel.one("#rx-form :checked")).to_have_count(0)
    panel.choose("It happened")
    panel.submit()
    panel.page.get_by_text("Recorded. The run continues.").first.wait_for()


def test_several_cut_off_model_calls_are_allowed_with_the_keyboard_alone(panel: Panel, site: Site) -> None:
    site.scene("report", "cut_off")
    panel.open()
    press = panel.page.keyboard.press
    panel.one("#rx-group-open").focus()
    press("Enter")
    panel.focus_on("rx-group-title")
    for _ in range(2):
        press("Tab")
        press("Space")
    panel.page.get_by_role("button", name="Allow 1 more attempt for 2 runs").wait_for()
    panel.press_until("Tab", "at.textContent.includes('Allow 1 more attempt for 2 runs')")
    press("Enter")

    panel.page.get_by_text("Recorded. The run continues.").nth(1).wait_for()
    assert sorted(said["run_id"] for said in site.asked("recovery_grant")) == ["run_report", "run_second"]
    panel.focus_on("rx-group-close")


def test_several_unknown_steps_are_decided_one_after_the_other(panel: Panel, site: Site) -> None:
    panel.open("run_two")
    for version in (9, 10):
        panel.page.get_by_text(f"decides version {version}").wait_for()
        panel.choose("It happened")
        panel.one("#rx-note").fill("Checked.")
        panel.submit()
        panel.page.get_by_text("Recorded.").first.wait_for()

    panel.one("#rx-card-run_two").wait_for(state="detached")
    assert [said["call_id"] for said in site.asked("recovery_decide")] == ["call_2", "call_3"]


def test_without_a_connection_the_note_stays_and_sending_again_is_one_decision(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("Stop the run")
    panel.one("#rx-note").fill("Not needed any more.")
    panel.page.context.set_offline(True)
    panel.submit()
    panel.page.get_by_role("heading", name="Agent Zero is not reachable.").wait_for()
    first = panel.page.evaluate("Alpine.store('recovery')._sent.id")
    panel.page.context.set_offline(False)

    panel.submit()

    panel.page.get_by_text("Recorded. The run is stopped.").first.wait_for()
    (said,) = site.asked("recovery_decide")
    assert said["request_id"] == first
    assert said["note"] == "Not needed any more."


def test_what_the_step_returned_goes_with_the_decision(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("It happened")
    panel.one("#rx-note").fill("Seen.")
    panel.page.get_by_text("Add what the step returned (optional)").click()
    panel.one("#rx-result").fill("Everything up-to-date")
    panel.submit()

    panel.page.get_by_text("Recorded. The run continues.").first.wait_for()
    assert site.asked("recovery_decide")[0]["result_text"] == "Everything up-to-date"


def test_more_attempts_are_a_call_of_their_own(panel: Panel, site: Site) -> None:
    panel.open("run_report")
    panel.choose("Allow more attempts")
    panel.page.get_by_role("radio", name="3", exact=True).click()
    panel.submit()

    panel.page.get_by_text("Recorded. The run continues.").first.wait_for()
    (said,) = site.asked("recovery_grant")
    assert (said["call_id"], said["attempts"]) == ("call_3", 3)
    assert site.asked("recovery_decide") == []


def test_the_outcome_is_said_and_the_next_hold_has_the_focus(panel: Panel) -> None:
    panel.open("run_corrupt")
    panel.choose("Stop the run")
    panel.submit()

    panel.focus_on("rx-card-run_report")
    expect(panel.one(".rx [role=status]")).to_have_text("Recorded. The run is stopped.")


def test_a_second_click_while_recording_is_no_second_decision(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("Stop the run")
    panel.page.evaluate("const form = document.querySelector('#rx-form'); form.requestSubmit(); form.requestSubmit();")

    panel.page.get_by_text("Recorded. The run is stopped.").first.wait_for()
    assert len(site.asked("recovery_decide")) == 1


def test_a_state_to_go_on_from_is_chosen_with_the_keyboard_and_needs_consent(panel: Panel, site: Site) -> None:
    site.scene("moved_on")
    panel.open("run_moved")
    first = panel.page.get_by_role("radio", name="Keep the chat as it is now")
    first.focus()
    panel.page.keyboard.press("ArrowDown")
    expect(panel.page.get_by_role("radio", name="Go back to the state after step 2")).to_be_checked()
    panel.page.keyboard.press("Enter")
    panel.focus_on("rx-ack")
    assert site.asked("recovery_restore") == []
    panel.page.keyboard.press("Space")
    panel.one("#rx-note").fill("The newer words were a test.")

    panel.submit()

    panel.page.get_by_text("Recorded. The run continues.").first.wait_for()
    (said,) = site.asked("recovery_restore")
    request_id = said.pop("request_id")
    assert request_id
    assert said == {
        "run_id": "run_moved",
        "version": 5,
        "selection": "7",
        "shown_digest": "digest-7",
        "note": "The newer words were a test.",
        "ack": True,
        "origin": "panel 127.0.0.1",
    }
    assert panel.page.evaluate("window.__broken") is None


def test_the_record_says_where_a_choice_came_from(panel: Panel, site: Site) -> None:
    site.scene("moved_on")
    panel.open("run_moved")
    panel.choose("Keep the chat as it is now")
    panel.page.get_by_role("button", name="Keep the chat, end the run").click()
    panel.page.get_by_text("Recorded. The run is stopped.").first.wait_for()

    panel.open("run_moved")

    panel.page.get_by_text("It came from: panel 127.0.0.1").wait_for()
