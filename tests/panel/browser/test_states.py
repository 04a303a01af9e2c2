"""Every state of the panel is drawn, in both themes, wide and narrow, without sticking out sideways."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.panel.support.canned import NASTY, push
from tests.support.sampling import thorough

from .conftest import Panel, Site, unanswered

pytestmark = pytest.mark.browser

MODES = [(1280, 900, False), (1280, 900, True), (360, 740, False), (360, 740, True)]
CHANGED = {"code": "host_changed", "files": ["agent.py", "helpers/extension.py"], "text": ""}
Draw = Callable[[Panel, Site], Iterator[None] | None]


@contextmanager
def drawn(draw: Draw, panel: Panel, site: Site) -> Iterator[None]:
    """The state stands as long as this lasts. One that ends by itself gives way while it stands, and then goes on."""
    site.scene()
    stands = draw(panel, site)
    if stands is not None:
        next(stands)
    yield
    for _ in stands or ():
        raise AssertionError("a state stands once")
    panel.close()


def loading(panel: Panel, site: Site) -> Iterator[None]:
    with unanswered(panel, "status"):
        panel.page.evaluate("Alpine.store('recovery').show()")
        panel.page.get_by_text("Reading the journal…").first.wait_for()
        expect(panel.one("#rx-runs")).to_have_attribute("aria-busy", "true")
        yield


def refreshing(panel: Panel, site: Site) -> Iterator[None]:
    panel.open()
    with unanswered(panel, "status"):
        panel.page.get_by_role("button", name="Look again").click()
        panel.one(".rx-turning").wait_for()
        expect(panel.one(".rx-card")).to_have_count(4)
        yield


def empty(panel: Panel, site: Site) -> None:
    site.scene("finished")
    panel.open()
    panel.page.get_by_role("heading", name="Nothing is waiting.").wait_for()
    panel.page.get_by_role("button", name="See all runs").click()
    panel.one("#rx-card-run_done").wait_for()


def holds(panel: Panel, site: Site) -> None:
    panel.open()
    expect(panel.one(".rx-name")).to_have_text(
        ["Read the invoices", "Weekly report (scheduled)", "Move the archive", "Deploy notes for Friday"]
    )
    expect(panel.one(".rx-lead")).to_have_text("4 runs need you. Finished steps are saved and will not run again.")
    expect(panel.one(".rx-resumed")).to_contain_text("Resumed by themselves after the restart: 3 runs")


def all_runs(panel: Panel, site: Site) -> None:
    panel.open()
    panel.one("#rx-tab-all").click()
    panel.one("#rx-card-run_done").wait_for()
    expect(panel.one(".rx-badge").last).to_have_text(re.compile(r"Finished\s*$"))


def unreadable(panel: Panel, site: Site) -> None:
    site.fail("recovery_list", "store_locked", "Another process owns the journal.")
    panel.open()
    panel.page.get_by_text("The journal could not be read.").first.wait_for()
    panel.page.get_by_text("No run was changed.", exact=True).wait_for()
    panel.page.get_by_role("button", name="Try again").click()
    panel.one("#rx-card-run_push").wait_for()


def unreadable_later(panel: Panel, site: Site) -> None:
    panel.open()
    site.fail("recovery_list", "internal")
    panel.page.get_by_role("button", name="Look again").click()
    panel.page.get_by_text("Shown below: what was known at").wait_for()
    panel.page.locator(".rx").get_by_text("Reference ").first.wait_for()
    expect(panel.one(".rx-cards")).to_contain_class("is-old")


def off(panel: Panel, site: Site) -> None:
    site.scene(off={"code": "off", "files": [], "text": "Durable Execution is off."})
    panel.open()
    panel.page.get_by_role("heading", name="Durable Execution is off.").wait_for()
    panel.page.get_by_text("No decision can be made here until it is active. No run was changed.").wait_for()
    panel.page.get_by_role("heading", name="What changes when you switch it on").wait_for()
    expect(panel.one(".rx-enable p")).to_have_count(3)
    expect(panel.one(".rx-panes")).to_be_hidden()


def refused(panel: Panel, site: Site) -> None:
    site.scene(off=CHANGED)
    panel.open()
    panel.page.get_by_role("heading", name="Durable Execution did not start.").wait_for()
    expect(panel.one(".rx-files li")).to_have_text(CHANGED["files"])


def restart(panel: Panel, site: Site) -> None:
    site.scene(
        "push",
        status={
            "restart_needed": True,
            "store_problem": "The disk is full.",
            "masking_problem": "No list.",
        },
    )
    panel.open()
    panel.page.get_by_text("Agent Zero must restart before new work is recorded.").wait_for()
    panel.page.get_by_text("The journal cannot be written right now: The disk is full.").wait_for()
    panel.page.get_by_text("New secrets may be written down as they are: No list.").wait_for()


def detail(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.page.get_by_role("heading", name="The command may still be running.").wait_for()
    opened = panel.one(".rx-call-row[aria-expanded='true']")
    expect(opened).to_contain_text("Started, no result saved")
    panel.one(".rx-call-row").nth(1).click()
    panel.page.get_by_text("On branch main, nothing to commit").wait_for()


def several(panel: Panel, site: Site) -> None:
    panel.open("run_two")
    panel.page.get_by_text("2 steps need you. They are decided one after the other.").wait_for()
    panel.page.get_by_text("How is it going?").wait_for()
    panel.page.get_by_role("radio", name="Step 3 · email send").click()
    panel.page.get_by_text("Your decision about step 3").wait_for()


def interrupted(panel: Panel, site: Site) -> None:
    panel.open("run_report")
    panel.choose("Allow more attempts")
    panel.page.get_by_role("radio", name="2", exact=True).click()
    panel.page.get_by_role("button", name="Allow 2 more attempts").wait_for()
    expect(panel.one("#rx-note")).to_be_hidden()


def several_interrupted(panel: Panel, site: Site) -> None:
    site.scene("push", "report", "cut_off")
    panel.open()
    panel.page.get_by_text("2 runs wait because a model call was cut off.").wait_for()
    panel.page.get_by_role("button", name="Allow attempts for several").click()
    for name in ("Weekly report (scheduled)", "Translate the manual"):
        panel.page.get_by_role("checkbox", name=name).check()
    site.client.call(
        "plugins/durable_execution/recovery_grant",
        {"run_id": "run_second", "version": 7, "call_id": "call_3", "attempts": 1, "request_id": "elsewhere"},
    )
    panel.page.get_by_role("button", name="Allow 1 more attempt for 2 runs").click()
    panel.page.get_by_text("Recorded. The run continues.").wait_for()
    panel.page.get_by_text("This run changed since it was shown. Nothing was recorded.").wait_for()


def paged(panel: Panel, site: Site) -> None:
    site.scene(more=[push(f"run_p{n}", f"Chat {n}", state="completed", ago=n) for n in range(1, 121)])
    panel.open()
    panel.one("#rx-tab-all").click()
    panel.page.get_by_text("50 of 125 runs").wait_for()
    panel.page.get_by_role("button", name="Show 50 more").click()
    panel.page.get_by_text("100 of 125 runs").wait_for()
    panel.one("#rx-search").fill("chat 11")
    panel.page.get_by_text("11 runs found").last.wait_for()
    panel.one("#rx-search").fill("no such words")
    panel.page.get_by_role("heading", name="No run has these words.").wait_for()


def over_crashes(panel: Panel, site: Site) -> None:
    site.scene("went_on")
    panel.open("run_long")
    panel.page.get_by_text("Saved results were used again: reuse saved 8 s and 2,400 tokens.").wait_for()
    expect(panel.one(".rx-break strong")).to_have_text(["Agent Zero ended here", "Agent Zero ended here, 3 times"])
    panel.page.get_by_role("button", name="Show steps 1 to 4, with saved results").wait_for()
    for word in ("Ran again", "Step error", "Confirmed", "Reconciled", "Interrupted", "Late result"):
        expect(panel.one(".rx-marks").get_by_text(word, exact=True), word).to_have_count(1)


def what_will_happen(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.page.get_by_text("Nothing happens before you record it.").wait_for()
    panel.choose("Start the step over")
    expect(panel.one(".rx-foreseen-row")).to_have_text(
        [
            re.compile(r"Steps 1 to 3\s+The recorded result is used. Nothing runs.\s*$"),
            re.compile(r"Step 4\s+Shell or code · git push origin main\s+Runs again, once.\s*$"),
        ],
        use_inner_text=True,
    )
    expect(panel.one(".rx-then")).to_have_text(re.compile(r"The run goes on with new steps.\s*$"), use_inner_text=True)
    panel.one(".rx-preview").scroll_into_view_if_needed()


def corrupt(panel: Panel, site: Site) -> None:
    panel.open("run_corrupt")
    panel.page.get_by_text("The saved state of this run cannot be read. The run is left exactly as it was.").last.wait_for()
    expect(panel.one(".rx-choice")).to_have_count(2)
    expect(panel.page.get_by_role("heading", name="The command may still be running.")).to_have_count(0)
    expect(panel.one(".rx-place code")).to_have_text("/a0/usr/plugin_data/durable_execution/backups/20261128T090000Z-b1b1b1")


def note_missing(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("It happened")
    panel.submit()
    panel.focus_on("rx-note")
    panel.page.get_by_text("Write how you know. This is kept with the run.").last.wait_for()


def start_over(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("Start the step over")
    box = panel.page.get_by_role("checkbox", name="I accept that this may happen twice.")
    expect(box).not_to_be_checked()
    panel.submit()
    panel.page.get_by_text("Tick the box to go on, or choose something else.").last.wait_for()
    assert site.asked("recovery_decide") == []


def sending(panel: Panel, site: Site) -> Iterator[None]:
    panel.open("run_push")
    panel.choose("Stop the run")
    wide = panel.one(".rx-record").bounding_box()
    with unanswered(panel, "recovery_decide"):
        panel.submit()
        panel.page.get_by_text("Recording…").wait_for()
        expect(panel.one("#rx-form")).to_have_attribute("inert", "inert")
        assert (panel.one(".rx-record").bounding_box() or {})["width"] >= (wide or {})["width"]
        yield


def not_recorded(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("It happened")
    panel.one("#rx-note").fill("Seen.")
    site.fail("recovery_decide", "store_full", "The disk is full.")
    panel.submit()
    panel.page.get_by_role("heading", name="The decision was not recorded.").wait_for()
    panel.page.get_by_text("The disk is full.", exact=True).wait_for()
    expect(panel.one("#rx-note")).to_have_value("Seen.")


def settled(panel: Panel, site: Site) -> None:
    site.stage("elsewhere", run_id="run_push", choice="confirmed_completed")
    panel.open("run_push")
    panel.page.get_by_role("heading", name="Decided at 14:03: it happened.").wait_for()
    expect(panel.one(".rx-settled .rx-said").first).to_have_text("Seen on the web page.")
    expect(panel.one("#rx-form")).to_have_count(0)
    expect(panel.one(".rx-record")).to_have_count(0)


def recorded(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("It happened")
    panel.one("#rx-note").fill("Seen on the web page.")
    panel.submit()
    expect(panel.one(".rx [role=status]").first).to_have_text("Recorded. The run continues.")
    panel.one("#rx-card-run_push").wait_for(state="detached")
    panel.focus_on("rx-card-run_corrupt")


def stale(panel: Panel, site: Site) -> None:
    panel.open("run_push")
    panel.choose("It did not happen")
    panel.one("#rx-note").fill("I think it did not.")
    site.fail("recovery_decide", "shown_changed", "What was shown is not what would be decided now.")
    panel.submit()
    panel.page.get_by_text("Your note is kept. Nothing was recorded.").wait_for()
    panel.focus_on("rx-show-latest")
    expect(panel.one("#rx-form")).to_have_attribute("inert", "inert")
    expect(panel.one("#rx-note")).to_have_value("I think it did not.")


def connection_lost(panel: Panel, site: Site) -> Iterator[None]:
    panel.open("run_push")
    panel.choose("It happened")
    panel.one("#rx-note").fill("Half a thought.")
    panel.page.context.set_offline(True)
    panel.submit()
    panel.page.get_by_role("heading", name="Agent Zero is not reachable.").first.wait_for()
    panel.page.get_by_text("Your note is kept here.").first.wait_for()
    yield
    panel.page.context.set_offline(False)
    expect(panel.one("#rx-note")).to_have_value("Half a thought.")


def restore_selection(panel: Panel, site: Site) -> None:
    site.scene("moved_on")
    panel.open("run_moved")
    panel.choose("Go back to the state after step 2")
    panel.page.get_by_text("What is newer is kept as a chat of its own.").first.wait_for()
    expect(panel.page.get_by_role("checkbox")).not_to_be_checked()


def still_alive(panel: Panel, site: Site) -> None:
    site.scene("alive")
    panel.open("run_alive")
    panel.page.get_by_text("Process 4711 (git push origin main) is still alive, for 8 minutes.").wait_for()


def message_left_over(panel: Panel, site: Site) -> None:
    site.scene("left_over")
    panel.open("run_left")
    panel.page.get_by_text("And tell the team.").wait_for()
    for action in ("Send", "Discard"):
        panel.one(".rx-left-over").get_by_role("button", name=action).wait_for()


def being_suspended(panel: Panel, site: Site) -> None:
    site.stage("suspension", steps=["git push origin main", "to: ana@example.org"])
    panel.open()
    panel.page.get_by_role("heading", name="Being suspended").wait_for()
    panel.page.get_by_text("Still at work: git push origin main; to: ana@example.org.").wait_for()
    panel.page.get_by_role("button", name="Resume now").wait_for()
    panel.one("#rx-suspend").wait_for(state="detached")


def not_safe_to_restart(panel: Panel, site: Site) -> None:
    site.stage("suspension", unrecorded=["Chat of yesterday"])
    panel.open()
    panel.page.get_by_role("heading", name="Not safe to restart yet").wait_for()
    panel.page.get_by_text("These chats are not recorded and a restart ends them: Chat of yesterday.").wait_for()


def safe_to_restart(panel: Panel, site: Site) -> None:
    """What somebody began elsewhere is seen at the next look, and its end without one."""
    panel.open()
    panel.one("#rx-suspend").wait_for()
    site.stage("suspension", steps=["git push origin main"])
    panel.page.get_by_role("button", name="Look again").click()
    panel.page.get_by_role("heading", name="Being suspended").wait_for()
    site.stage("suspension", unrecorded=["Chat of yesterday"])
    panel.page.get_by_role("heading", name="Not safe to restart yet").wait_for()
    site.stage("suspension")
    panel.page.get_by_role("heading", name="Safe to restart now").wait_for()
    panel.page.get_by_text("What was suspended goes on by itself afterwards.").wait_for()


def documents(panel: Panel, site: Site, document_id: str = "") -> None:
    panel.open()
    panel.one("#rx-tab-documents").click()
    panel.one("#rxd-card-doc_calm").wait_for()
    expect(panel.one(".rxd-name")).to_have_text(["Publish release 1.4", "Plan the summer"])
    panel.page.get_by_text("1 conflict waits for you. Both versions of each are kept.").wait_for()
    if document_id:
        panel.one(f"#rxd-card-{document_id}").click()
        panel.focus_on("rxd-title")


def documents_empty(panel: Panel, site: Site) -> None:
    site.stage("no_documents")
    panel.open()
    panel.one("#rx-tab-documents").click()
    panel.page.get_by_role("heading", name="No document yet.").wait_for()


def documents_unreadable(panel: Panel, site: Site) -> None:
    documents(panel, site)
    panel.answered()
    site.fail("documents_list", "store_locked", "Another process owns the journal.")
    panel.page.get_by_role("button", name="Look again").click()
    panel.one(".rxd").get_by_role("heading", name="The journal could not be read.").wait_for()
    panel.one("#rxd-card-doc_calm").wait_for()


def document(panel: Panel, site: Site) -> None:
    documents(panel, site, "doc_calm")
    panel.page.get_by_text("No conflict. This is what is stored.").wait_for()
    expect(panel.one(".rxd-plan li")).to_have_count(2)


def document_conflict(panel: Panel, site: Site) -> None:
    documents(panel, site, "doc_conflict")
    panel.one(".rxd-compare").wait_for()
    expect(panel.one(".rxd-facts li")).to_have_text(
        [
            "You saved a version that began with revision 4.",
            "Stored is revision 6, last changed by the agent.",
            "Nothing was lost: both versions are kept until you choose.",
        ]
    )
    panel.page.get_by_text("5 parts differ, 1 the same on both sides.").wait_for()
    for way in ("Keep stored", "Use mine", "Edit and save"):
        panel.page.get_by_role("button", name=way).wait_for()
    panel.page.get_by_text("Resolving a plan never runs anything.").wait_for()


def document_merge(panel: Panel, site: Site) -> None:
    document_conflict(panel, site)
    panel.page.get_by_role("button", name="Edit and save").click()
    panel.focus_on("rxd-merge-title")
    expect(panel.one(".rxd-merge-items li")).to_have_count(4)


def document_stale(panel: Panel, site: Site) -> None:
    document_conflict(panel, site)
    site.stage("saved_elsewhere", document_id="doc_conflict")
    panel.page.get_by_role("button", name="Look again").click()
    panel.one(".rxd-stale").get_by_text("it is revision 7 now").wait_for()
    expect(panel.one(".rxd-choice")).to_have_attribute("inert", "inert")


def gone(panel: Panel, site: Site) -> None:
    panel.open()
    site.scene("push")
    panel.one("#rx-card-run_two").click()
    panel.page.get_by_text("This run is not in the journal any more.").first.wait_for()


def long_and_hostile(panel: Panel, site: Site) -> None:
    view = push("run_nasty", f"{NASTY} {'x' * 300}")
    steps = [{**view["calls"][1], "call_id": f"s{n}", "n": n} for n in range(1, 40)]
    view["calls"] = [*steps, {**view["calls"][3], "summary": f"{NASTY}{'y' * 400}", "name": NASTY, "error": NASTY}]
    view["messages"] = [{"input_id": "m", "text": NASTY * 20, "state": "waiting", "at": 1}]
    view["run"]["reason"]["text"] = NASTY
    site.scene("push", more=[view])
    panel.open("run_nasty")
    fold = panel.page.get_by_role("button", name="Show steps 1 to 35, with saved results")
    fold.wait_for()
    expect(panel.one(".rx-call")).to_have_count(5)
    fold.click()
    panel.focus_on("rx-row-s1")
    expect(panel.one(".rx-call")).to_have_count(40)
    expect(panel.one("#rx-run-title")).to_have_text(re.compile(f"^{re.escape(NASTY)}"))
    expect(panel.one(".rx img")).to_have_count(0)
    assert panel.page.evaluate("window.__broken") is None


STATES: list[Draw] = [
    loading, refreshing, empty, holds, all_runs, paged, unreadable, unreadable_later, off, refused, restart,
    detail, several, interrupted, several_interrupted, over_crashes, what_will_happen, corrupt, restore_selection, still_alive,
    message_left_over, note_missing, start_over, sending, recorded, stale, not_recorded, connection_lost, settled, gone,
    being_suspended, not_safe_to_restart, safe_to_restart,
    documents, documents_empty, documents_unreadable, document, document_conflict, document_merge, document_stale, long_and_hostile,
]  # fmt: skip


@pytest.mark.timeout(600)  # forty states, one after the other: a minute on a busy machine
@pytest.mark.parametrize(("width", "height", "light"), [MODES[0], MODES[3], *thorough(MODES[1], MODES[2])])
def test_every_state_is_drawn(tab: Callable[..., Panel], site: Site, width: int, height: int, light: bool) -> None:
    panel = tab(width, height, light=light)
    panel.page.emulate_media(reduced_motion="reduce")
    for draw in STATES:
        with drawn(draw, panel, site):
            assert panel.overflow() == [], draw.__name__
            assert width < 1280 or panel.barriers() == [], draw.__name__


@pytest.mark.parametrize(("width", "height"), [(320, 256), (320, 640), (520, 700), (768, 900), (960, 700), (1440, 1000)])
def test_no_width_scrolls_sideways(tab: Callable[..., Panel], site: Site, width: int, height: int) -> None:
    panel = tab(width, height)
    panel.open()
    assert panel.overflow() == []
    panel.close()
    panel.open("run_two")

    assert panel.overflow() == []
    assert panel.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    panel.one(".rx-record").scroll_into_view_if_needed()
    expect(panel.one(".rx-record")).to_be_visible()


def test_wide_enough_the_list_stays_beside_the_run(tab: Callable[..., Panel]) -> None:
    wide = tab(1280, 900).open("run_push")
    narrow = tab(800, 900).open("run_push")

    expect(wide.one("#rx-card-run_two")).to_be_visible()
    expect(wide.one("#rx-tab-documents .rx-count")).to_have_text("1")
    edges = "[document.querySelector('#rx-tab-documents'), document.querySelector('.rx-icon')].map((one) => one.getBoundingClientRect())"
    assert wide.page.evaluate(f"(() => {{ const [tab, icon] = {edges}; return tab.right <= icon.left; }})()")
    expect(narrow.one("#rx-card-run_two")).to_be_hidden()


def test_targets_are_large_enough_for_a_finger_on_a_small_screen(tab: Callable[..., Panel]) -> None:
    panel = tab(360, 740).open("run_push")

    small = panel.page.evaluate(
        """() => [...document.querySelectorAll('.rx button, .rx summary, .rx .rx-choice')]
          .filter((element) => element.getClientRects().length && element.getBoundingClientRect().height < 44)
          .map((element) => element.className)"""
    )
    assert small == []


def test_nothing_turns_where_motion_is_not_wanted(tab: Callable[..., Panel]) -> None:
    panel = tab()
    panel.page.emulate_media(reduced_motion="reduce")
    panel.open()
    with unanswered(panel, "status"):
        panel.page.get_by_role("button", name="Look again").click()
        panel.one(".rx-turning").wait_for()

        expect(panel.one(".rx-turning")).to_have_css("animation-name", "none")
