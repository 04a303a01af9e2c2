"""The Recovery panel in Agent Zero's own page: settings, list, several holds at once, a form that is out of date, ways there and back."""

from __future__ import annotations

import json

from playwright.sync_api import Page, Route, expect

from .browser import Browser, Tab
from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say
from .recovery import Recovery
from .test_page import hold

PAGE = 50
TRAP = "<img src=x onerror=document.title=7>"  # a chat's name has at most 40 characters


def panel(tab: Tab, chat: str) -> Page:
    """The page with the panel opened from its menu."""
    page = tab.open(chat).page
    page.locator("#header-more").click()
    page.locator("#durable-recovery-dropdown").click()
    page.locator(".rx-card, .rx-empty").first.wait_for()
    return page


def test_the_settings_say_how_it_stands_and_make_a_backup_and_run_the_doctor(client: Client, model: ScriptedModel, tab: Tab) -> None:
    chat = client.new_chat()
    model.script(say("Recorded."))
    client.ask(chat, "Say something")
    page = tab.open(chat).page
    page.get_by_role("button", name="Plugins", exact=True).click()
    page.locator(".plugin-card").filter(has_text="Durable Execution").get_by_role("button", name="Config").click()

    settings = page.locator(".rxs")
    settings.get_by_role("heading", name="Recovery and documents").wait_for()
    expect(settings.locator(".rxs-health")).to_contain_text("New work is recorded and can go on after a restart.")
    expect(settings.locator(".rxs-facts")).to_contain_text("SQLite, schema")
    expect(page.get_by_label("After a restart", exact=True)).to_have_value("auto")
    tab.picture("settings")
    settings.get_by_role("button", name="Make a backup").click()
    expect(settings.get_by_role("status")).to_have_text("The backup was made and verified.", timeout=60_000)
    expect(settings.locator(".rxs-backups > li")).to_have_count(1)
    settings.get_by_role("button", name="Verify the backup of").click()
    expect(settings.get_by_role("status")).to_contain_text("is what was written", timeout=60_000)
    settings.get_by_role("button", name="Run the doctor").click()
    settings.get_by_role("heading", name="What the doctor saw").wait_for(timeout=120_000)
    expect(settings.locator(".rxs-facts")).to_contain_text("looked at")
    settings.get_by_role("heading", name="What the doctor saw").scroll_into_view_if_needed()
    tab.picture("settings-doctor")

    (backup,) = client.plugin("safety").ok()["backups"]
    assert backup["problem"] == ""
    assert tab.errors == []


def test_all_runs_are_paged_and_searched(client: Client, model: ScriptedModel, recovery: Recovery, tab: Tab) -> None:
    model.chat_names["the tide tables"] = "Tide tables"
    named = client.new_chat()
    model.script(say("The tide is out."))
    client.ask(named, "Read the tide tables")
    client.wait("the chat's name", lambda: recovery.runs(named)[0]["title"] == "Tide tables")
    chat = client.new_chat()
    model.default = lambda _asked: say("Once more.")
    for _ in range(PAGE):
        client.ask(chat, "Once more")
    total = client.plugin("recovery_list", {"tab": "all"}).ok()["counts"]["all"]

    page = panel(tab, chat)
    page.get_by_role("tab", name="All runs").click()
    expect(page.locator(".rx-card")).to_have_count(PAGE)
    expect(page.locator(".rx-paging")).to_contain_text(f"{PAGE} of {total} runs")
    page.get_by_role("button", name="Show 50 more").click()
    expect(page.locator(".rx-card")).to_have_count(min(total, 2 * PAGE))
    page.get_by_label("Search all runs").fill("tide")
    expect(page.locator(".rx-name")).to_have_text(["Tide tables"])
    tab.picture("search")
    page.get_by_label("Search all runs").fill("no such words")
    page.get_by_role("heading", name="No run has these words.").wait_for()

    assert tab.errors == []


def test_several_cut_off_model_calls_get_their_attempts_at_once(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, tab: Tab
) -> None:
    chats, waiting = {}, []
    for name in ("Harbour", "Lighthouse", "Jetty"):
        model.chat_names[f"about the {name}"] = name
        chats[name] = client.new_chat()
        waiting.append(model.hold(say("Never heard."), when=f"about the {name}"))
        client.send(chats[name], f"Tell me about the {name}")
        waiting[-1].wait_arrived()
    for name, chat in chats.items():
        client.wait(f"the name {name}", lambda name=name, chat=chat: recovery.runs(chat)[0]["title"] == name)
    host.kill()
    for answer in waiting:
        answer.release()
    host.start()
    for chat in chats.values():
        recovery.held(chat)
    for name in ("Harbour", "Lighthouse"):
        model.script(say(f"All about the {name}."))
    page = panel(tab, chats["Harbour"])

    page.get_by_role("button", name="Allow attempts for several").click()
    for name in ("Harbour", "Lighthouse"):
        page.get_by_role("checkbox", name=name).check()
    tab.picture("several-cut-off")
    page.get_by_role("button", name="Allow 1 more attempt for 2 runs").click()

    expect(page.locator(".rx-group-outcome").get_by_text("Recorded. The run continues.")).to_have_count(2)
    for name in ("Harbour", "Lighthouse"):
        recovery.wait_state(chats[name], "completed")
    assert recovery.run(chats["Jetty"])["run"]["state"] == "held"
    assert tab.errors == []
    recovery.decide(recovery.held(chats["Jetty"]), "stop").ok()


def test_a_form_that_is_out_of_date_records_nothing_and_keeps_its_note(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, browser: Browser, tab: Tab
) -> None:
    model.chat_names["Write the two files"] = TRAP
    chat = hold(host, client, model, recovery, effect, "Write the two files", name=TRAP)
    run_id = recovery.held(chat)["run"]["run_id"]
    with browser.tab(host.url) as other:
        notes = {tab: "Seen in the first tab.", other: "Seen in the second tab."}
        for each, note in notes.items():
            each.open(chat).page.get_by_role("button", name="Review").first.click()
            each.page.get_by_label("It happened").check()
            each.page.get_by_label("How do you know?").fill(note)
        expect(tab.page.locator("#rx-run-title")).to_have_text(TRAP)
        expect(tab.page.locator(f"#rx-card-{run_id} .rx-name")).to_have_text(TRAP)

        with_another_digest(tab.page)
        tab.page.get_by_role("button", name="Record: it happened").click()
        tab.page.get_by_text("Your note is kept. Nothing was recorded.").wait_for()
        tab.picture("out-of-date")
        tab.page.get_by_role("button", name="Show the latest").click()
        expect(tab.page.get_by_label("It happened")).not_to_be_checked()
        expect(tab.page.get_by_label("How do you know?")).to_have_value(notes[tab])
        assert recovery.detail(run_id)["recorded"] == []

        model.script(say("Decided once."))
        tab.page.get_by_label("It happened").check()
        for each in notes:  # the push of the first decision may be there before the second: its button cannot be clicked any more
            each.page.evaluate("document.querySelector('#rx-form').requestSubmit()")
        client.wait_answer(chat, "Decided once.")
        (said,) = recovery.detail(run_id)["recorded"]
        won, lost = (tab, other) if said["note"] == notes[tab] else (other, tab)
        won.page.get_by_text("Recorded. The run continues.").first.wait_for()
        lost.page.get_by_role("button", name="Show the latest").click()
        lost.page.get_by_role("heading", name="Your note, not recorded").wait_for()
        lost.page.get_by_text(notes[lost]).locator("visible=true").first.wait_for()
        lost.picture("decided-elsewhere")

        assert effect.lines == ["start", "end"]
        for each in notes:
            expect(each.page.locator("img[src='x']")).to_have_count(0)
            assert each.page.title() != "7"
            assert [line for line in each.errors if "status of 409" not in line] == []


def with_another_digest(page: Page) -> None:
    """The next decision names a preview that was never shown."""

    def change(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        route.continue_(post_data=json.dumps({**body, "shown_digest": "0" * 64}))

    page.route("**/recovery_decide", change, times=1)


def test_from_a_chat_to_its_step_and_back(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, tab: Tab
) -> None:
    chat = hold(host, client, model, recovery, effect, "Write the file")
    call = next(call for call in recovery.held(chat)["calls"] if call["outcome"] == "open")
    page = tab.open(chat).page

    page.get_by_role("button", name="Show in Recovery").first.click()
    row = page.locator(f"#rx-row-{call['call_id']}")
    expect(row).to_be_focused()
    expect(row).to_have_attribute("aria-expanded", "true")
    page.get_by_text(f"Your decision about step {call['n']}").wait_for()
    tab.picture("step")
    page.get_by_role("button", name="Show this step in the chat").click()
    page.locator(".rx").wait_for(state="detached")

    mark = f"durable-hold-{recovery.held(chat)['run']['run_id']}-{call['call_id']}"
    expect(page.locator(f"#message-{mark}:focus, [data-step-id='{mark}']:focus")).to_be_visible(timeout=30_000)
    tab.picture("step-in-chat")
    assert tab.errors == []
    recovery.decide(recovery.held(chat), "stop").ok()
