"""The journal itself in the settings: health, the doctor, backups, and a restore that warns before it does anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.panel.support.canned import NASTY

from .conftest import Panel, Site

pytestmark = pytest.mark.browser

SETTINGS = "/plugins/durable_execution/webui/recovery/safety.html"


def settings(panel: Panel) -> Panel:
    panel.page.evaluate("path => void openModal(path)", SETTINGS)
    panel.page.get_by_role("heading", name="Recovery and documents").wait_for()
    # In Agent Zero the settings dialog stands around it; the small host has none, so the bare frame gets a name here.
    panel.page.evaluate("Object.assign(document.querySelector('.modal-inner'), { role: 'dialog', ariaLabel: 'Settings' })")
    return panel


def test_health_storage_and_versions_are_said_in_words(panel: Panel) -> None:
    settings(panel)
    panel.page.get_by_text("Working. New work is recorded and can go on after a restart. 4 runs wait for your decision.").wait_for()

    for words in ("v2.6", "SQLite, schema 4", "10.2 MiB: journal 5.1 MiB", "Not looked at since the start", "2 functions of Agent Zero"):
        expect(panel.one(".rxs-facts")).to_contain_text(words)
    assert panel.barriers() == []


def test_the_doctor_says_what_it_saw_as_text(panel: Panel) -> None:
    settings(panel)
    panel.page.get_by_role("button", name="Run the doctor").click()
    panel.page.get_by_role("heading", name="What the doctor saw").wait_for()

    expect(panel.one(".rxs-findings li")).to_have_count(3)
    expect(panel.one(".rxs-findings")).to_contain_text(NASTY)
    expect(panel.one(".rxs img")).to_have_count(0)
    expect(panel.one(".rxs-facts")).to_contain_text("All as written, looked at")
    assert panel.barriers() == []


def test_a_backup_is_made_verified_and_listed(panel: Panel, site: Site) -> None:
    settings(panel)
    panel.page.get_by_role("button", name="Make a backup").click()
    panel.page.get_by_text("The backup was made and verified.").last.wait_for()
    expect(panel.one(".rxs-backups > li")).to_have_count(3)
    panel.page.get_by_role("button", name="Verify the backup of").first.click()
    panel.page.get_by_text("Every part of it is what was written.").last.wait_for()
    expect(panel.one(".rxs-backups")).to_contain_text("Its manifest cannot be read.")
    assert site.asked("backup_verify") == [{"name": "20261129T140320Z-aaaaaa"}]


def test_a_restore_warns_first_and_needs_consent_and_can_be_left(panel: Panel, site: Site) -> None:
    settings(panel)
    button = panel.page.get_by_role("button", name="Put back the backup of")
    button.click()
    panel.focus_on("rxs-restore-title")
    panel.page.get_by_text("Every unfinished run then waits for your decision").wait_for()
    assert panel.barriers() == []
    panel.page.get_by_role("button", name="Put this backup back").click()
    panel.page.get_by_text("Tick the box to go on. Nothing was changed.").wait_for()
    panel.page.get_by_role("button", name="Cancel").click()
    panel.page.wait_for_function("document.activeElement.id.startsWith('rxs-restore-2026')")
    assert site.asked("backup_restore") == []

    button.click()
    panel.page.get_by_role("checkbox", name="I accept that what came after this backup may happen twice.").check()
    panel.page.get_by_role("button", name="Put this backup back").click()
    panel.page.get_by_text("2 runs wait for your decision.").last.wait_for()
    assert site.asked("backup_restore") == [{"name": "20261128T090000Z-b1b1b1", "ack": True}]


def test_a_refusal_says_that_nothing_was_changed(panel: Panel, site: Site) -> None:
    settings(panel)
    site.fail("backup_make", "store_full", "The disk is full.")
    panel.page.get_by_role("button", name="Make a backup").click()

    panel.page.get_by_text("The disk is full. Nothing was changed.").wait_for()


def test_while_it_is_off_three_sentences_say_what_would_change_and_only_the_status_is_asked(panel: Panel, site: Site) -> None:
    site.scene(off={"code": "off", "files": [], "text": "Durable Execution is off."})
    settings(panel)
    panel.page.get_by_role("heading", name="What changes when it is on").wait_for()

    expect(panel.one(".rxs-box p")).to_have_count(4)
    assert {name for name, _ in site.stage("look")} == {"status"}
    assert panel.barriers() == []


@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
@pytest.mark.parametrize("width", [320, 1280])
def test_it_fits_and_can_be_read(tab: Callable[..., Panel], width: int, light: bool) -> None:
    panel = settings(tab(width, 800, light=light))
    panel.page.get_by_role("button", name="Run the doctor").click()
    panel.page.get_by_role("heading", name="What the doctor saw").wait_for()

    assert panel.still().page.evaluate("document.querySelector('.rxs').scrollWidth <= document.querySelector('.rxs').clientWidth + 1")
    assert panel.barriers() == []


def test_closing_it_leaves_nothing_that_asks(panel: Panel, site: Site) -> None:
    settings(panel)
    panel.page.get_by_role("button", name="Make a backup").wait_for()
    panel.page.evaluate(  # in one step: the look that it waits for would have begun before the next
        """path => {
          const it = Alpine.store('durableSafety');
          it.view.doctor.state = 'running';
          it._watch(it._shown);
          return closeModal(path);
        }""",
        SETTINGS,
    )
    panel.one(".rxs").wait_for(state="detached")

    before = len(site.stage("look"))
    panel.page.wait_for_timeout(1_300)  # longer than it waits between two looks at the doctor
    assert len(site.stage("look")) == before
