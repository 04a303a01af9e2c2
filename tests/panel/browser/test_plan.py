"""The plan beside the chat and its conflicts, on the real service: two tabs at once, agent and person at once, by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from refhost.client import Client
from refhost.model import Model, answer, use, with_
from refhost.world import World
from tests.panel.support.canned import NASTY
from tests.support.story import API

from .conftest import Panel, Site, late, tabs
from .test_contrast import LOOK, PALETTES

pytestmark = pytest.mark.browser

TITLE = "Publish the site"


def value(*names: str, title: str = TITLE, done: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"title": title, "items": [{"id": name[:60], "text": f"do {name}", "done": name in done} for name in names]}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with Model.start(tmp_path_factory.mktemp("model")) as running:
        yield running


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, model: Model) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("plan") / "world", model=model, page=True).start() as running:
        yield running


class Plan:
    """The plan of one chat, as the server has it and as one page shows it."""

    def __init__(self, client: Client, chat: str) -> None:
        self.client, self.chat = client, chat

    def save(self, expected: int, plan: dict[str, Any]) -> Any:
        return self.client.ask(API + "document_save", {"chat_id": self.chat, "expected_revision": expected, "value": plan})

    def read(self) -> dict[str, Any]:
        return self.client.call(API + "document_read", {"chat_id": self.chat})

    def names(self) -> list[str]:
        return [item["text"].removeprefix("do ") for item in self.read()["document"]["value"]["items"]]

    def wait(self, revision: int) -> dict[str, Any]:
        self.client.wait(lambda: self.read()["document"]["revision"] >= revision, what=f"revision {revision}")
        found = self.read()
        assert found["document"]["revision"] == revision
        return found


@pytest.fixture
def plan(world: World) -> Plan:
    client = world.client()
    return Plan(client, client.create_chat())


@pytest.fixture
def tab(chromium: Browser, world: World) -> Iterator[Callable[..., Panel]]:
    with tabs(chromium, Site(world.url, world.client())) as opened:
        yield opened


def opened(panel: Panel) -> Panel:
    panel.one("#durable-plan-toggle").click()
    panel.one("#durable-plan-new").wait_for()
    panel.focus_on("durable-plan-heading")
    return panel


def item(panel: Panel, text: str) -> Locator:
    return panel.one(".rxp-item").filter(has_text=text)


def conflict_of(plan: Plan) -> None:
    """Revision 2 is stored; from revision 1 somebody else checked `a` and added `mine`."""
    plan.save(0, value("a", "b", "c"))
    plan.save(1, value("a", "c", "stored"))
    assert plan.save(1, value("a", "b", "c", "mine", done=("a",))).status == 409


def test_a_person_begins_a_plan_and_works_in_it(tab: Callable[..., Panel], plan: Plan) -> None:
    panel = opened(tab(chat=plan.chat))
    for number, name in enumerate(("a", "b", "c"), 1):
        panel.one("#durable-plan-new").fill(f"do {name}")
        panel.page.keyboard.press("Enter")
        plan.wait(number)
    panel.page.get_by_role("checkbox", name="do b").check()
    plan.wait(4)
    panel.page.get_by_role("button", name="Move up: do c").click()
    plan.wait(5)
    panel.page.get_by_role("button", name="Remove: do a").click()
    plan.wait(6)
    panel.page.get_by_role("button", name="Edit: do c").click()
    panel.one("#durable-plan-edit").fill("do it well")
    panel.page.keyboard.press("Enter")
    plan.wait(7)
    panel.page.get_by_role("button", name="Edit the title").click()
    panel.one("#durable-plan-edit").fill(TITLE)
    panel.page.get_by_role("button", name="Save").click()
    found = plan.wait(8)["document"]

    assert [(each["text"], each["done"]) for each in found["value"]["items"]] == [("do it well", False), ("do b", True)]
    assert (found["value"]["title"], found["written_by"]) == (TITLE, "you")
    expect(panel.one("#durable-plan-heading")).to_have_text(TITLE)
    expect(panel.one("#durable-plan-toggle")).to_contain_text("1 of 2 done")


def test_a_page_without_a_plan_asks_the_server_nothing_and_shows_one_quiet_button(tab: Callable[..., Panel], plan: Plan) -> None:
    panel = tab(chat=plan.chat)
    sent: list[str] = []
    panel.page.on("request", lambda request: sent.append(request.url))

    with panel.page.expect_request("**/api/poll"):
        panel.one("#durable-plan-toggle").wait_for()

    expect(panel.one("#durable-plan-toggle")).to_contain_text("Plan")
    assert [url for url in sent if "/api/plugins/" in url] == []


def test_what_the_agent_writes_appears_while_it_works(tab: Callable[..., Panel], plan: Plan, model: Model) -> None:
    model.script(
        use("durable_plan", action="replace", expected_revision=0, value=value("a", "b")),
        with_(use("durable_plan", action="replace", expected_revision=1, value=value("a", "b", done=("a",))), gate="shown"),
        answer("done", gate="live"),
        when="please plan it",
    )
    panel = tab(chat=plan.chat)
    plan.client.send(plan.chat, "please plan it")
    panel.page.get_by_role("button", name=TITLE).wait_for()
    opened(panel)
    model.release("shown")

    panel.page.get_by_text("1 of 2 done").first.wait_for()
    expect(panel.page.get_by_role("checkbox", name="do a")).to_be_checked()
    panel.page.get_by_role("status").filter(has_text="The agent changed the plan").wait_for(state="attached")
    model.release("live")
    plan.client.wait_idle(plan.chat)


def test_what_is_answered_late_takes_no_focus_away(tab: Callable[..., Panel], plan: Plan) -> None:
    plan.save(0, value("a"))
    panel = tab(chat=plan.chat)
    with late(panel, "document_read"):
        panel.page.reload()
        panel.one("#durable-plan-toggle").click()
        panel.one("#chat-input").focus()
    panel.one("#durable-plan-new").wait_for()
    panel.still().focus_on("chat-input")

    with late(panel, "document_save"):
        panel.one("#durable-plan-new").fill("do b")
        panel.page.keyboard.press("Enter")
        expect(panel.one(".rxp-text")).to_have_text(["do a", "do b"])
        panel.one("#chat-input").focus()
    panel.one(".durable-plan [role=status]").get_by_text("Added: do b").wait_for(state="attached")

    panel.still().focus_on("chat-input")


def test_two_tabs_that_edit_at_once_lose_nothing(tab: Callable[..., Panel], plan: Plan) -> None:
    plan.save(0, value("a", "b"))
    first, second = opened(tab(chat=plan.chat)), opened(tab(chat=plan.chat))
    second.page.get_by_role("button", name="Edit: do a").click()
    second.one("#durable-plan-edit").fill("do a slowly")
    first.page.get_by_role("button", name="Edit: do a").click()
    first.one("#durable-plan-edit").fill("do a fast")
    first.page.keyboard.press("Enter")
    plan.wait(2)
    second.page.wait_for_function("Alpine.store('durablePlan').stored.revision === 2")

    second.one("#durable-plan-edit").press("Enter")

    second.page.get_by_text("your change is kept beside it").first.wait_for()
    found = plan.read()
    assert [each["text"] for each in found["document"]["value"]["items"]] == ["do a fast", "do b"]
    assert [each["text"] for each in found["conflicts"][0]["value"]["items"]] == ["do a slowly", "do b"]
    first.page.get_by_role("button", name="1 conflict").wait_for()
    expect(item(second, "do a fast")).to_have_count(1)


def test_an_edit_of_another_item_is_no_conflict(tab: Callable[..., Panel], plan: Plan) -> None:
    """What is edited did not change meanwhile, and the rest is taken as it is now."""
    plan.save(0, value("a", "b"))
    panel = opened(tab(chat=plan.chat))
    panel.page.get_by_role("button", name="Edit: do a").click()
    panel.one("#durable-plan-edit").fill("do a slowly")
    plan.save(1, value("a", "b", "c", done=("b",)))
    item(panel, "do c").wait_for()

    panel.one("#durable-plan-edit").press("Enter")

    found = plan.wait(3)
    assert [(each["text"], each["done"]) for each in found["document"]["value"]["items"]] == [
        ("do a slowly", False), ("do b", True), ("do c", False),
    ]  # fmt: skip
    assert found["waiting"] == 0


def test_agent_and_person_at_once_and_the_person_settles_it(tab: Callable[..., Panel], plan: Plan, model: Model) -> None:
    model.script(
        use("durable_plan", action="replace", expected_revision=0, value=value("a")),
        answer("planned", gate="both"),
        use("durable_plan", action="replace", expected_revision=1, value=value("a", "agent")),
        answer("said"),
        when="together",
    )
    panel = tab(chat=plan.chat)
    plan.client.send(plan.chat, "together")
    plan.wait(1)
    panel.page.get_by_role("button", name=TITLE).wait_for()
    opened(panel)
    panel.one("#durable-plan-new").fill("do person")
    panel.page.keyboard.press("Enter")
    plan.wait(2)
    model.release("both")
    plan.client.wait_idle(plan.chat)
    plan.client.say(plan.chat, "together again")

    panel.page.get_by_role("button", name="1 conflict").click()
    panel.one(".rxd-compare").wait_for()
    requests = len(model.requests("chat"))
    expect(panel.one(".rxd-compare thead")).to_contain_text("The agent's")
    panel.one("#rxd-edit").click()
    panel.one("#rxd-save").click()
    panel.page.get_by_text("No conflict. This is what is stored.").wait_for()

    assert plan.names() == ["a", "agent", "person"]
    assert len(model.requests("chat")) == requests, "resolving ran something"
    panel.page.get_by_role("status").filter(has_text="Saved. Nothing was run.").wait_for(state="attached")


@pytest.mark.parametrize(
    ("button", "names", "revision"),
    [
        ("Keep stored", ["a", "c", "stored"], 2),
        ("Use mine", ["a", "b", "c", "mine"], 3),
        ("Edit and save", ["a", "c", "mine", "stored"], 3),
    ],
)
def test_a_conflict_is_shown_side_by_side_and_settled(
    tab: Callable[..., Panel], plan: Plan, button: str, names: list[str], revision: int
) -> None:
    conflict_of(plan)
    panel = tab(chat=plan.chat)
    panel.page.get_by_role("button", name="1 conflict").click()
    panel.focus_on("rxd-title")
    for word in ("Yours", "Stored", "added", "removed", "done", "not there"):
        expect(panel.one(".rxd-compare")).to_contain_text(word, use_inner_text=True)
    for fact in ("began with revision 1", "Stored is revision 2", "Nothing was lost"):
        expect(panel.one(".rxd-facts")).to_contain_text(fact)

    panel.page.get_by_role("button", name=button).click()
    if button == "Edit and save":
        panel.one("#rxd-save").click()
    panel.page.get_by_text("No conflict. This is what is stored.").wait_for()

    assert (plan.names(), plan.read()["document"]["revision"]) == (names, revision)
    panel.focus_on("rxd-title")


def test_a_change_while_one_resolves_makes_the_form_out_of_date_and_keeps_what_was_typed(tab: Callable[..., Panel], plan: Plan) -> None:
    conflict_of(plan)
    panel = tab(chat=plan.chat)
    panel.page.get_by_role("button", name="1 conflict").click()
    panel.one("#rxd-edit").click()
    panel.one("#rxd-merge-title").fill("My own title")
    plan.save(2, value("a", "newer"))

    panel.page.get_by_text("it is revision 3 now").first.wait_for()
    expect(panel.one(".rxd-choice")).to_have_attribute("inert", "inert")
    panel.page.get_by_role("button", name="Show the latest").click()
    expect(panel.one("#rxd-merge-title")).to_have_value("My own title")
    panel.one("#rxd-save").click()
    panel.page.get_by_text("No conflict. This is what is stored.").wait_for()

    assert plan.read()["document"]["value"]["title"] == "My own title"


def test_a_conflict_that_another_tab_resolved_is_said_so(tab: Callable[..., Panel], plan: Plan) -> None:
    conflict_of(plan)
    first, second = tab(chat=plan.chat), tab(chat=plan.chat)
    for panel in (first, second):
        panel.page.get_by_role("button", name="1 conflict").click()
        panel.one(".rxd-compare").wait_for()

    first.page.get_by_role("button", name="Keep stored").click()
    first.page.get_by_text("No conflict. This is what is stored.").wait_for()

    second.page.get_by_text("This conflict was resolved while you were reading.").first.wait_for()
    second.page.get_by_role("button", name="Show the latest").click()
    second.page.get_by_text("No conflict. This is what is stored.").wait_for()
    assert plan.read()["document"]["revision"] == 2


def test_by_keyboard_alone(tab: Callable[..., Panel], plan: Plan) -> None:
    conflict_of(plan)
    panel = tab(chat=plan.chat)
    key = panel.page.keyboard.press
    panel.one("#durable-plan-toggle").focus()
    key("Enter")
    panel.focus_on("durable-plan-heading")
    panel.one("#durable-plan-down-0").focus()
    key("Enter")
    plan.wait(3)
    panel.focus_on("durable-plan-down-1")
    key("Enter")
    plan.wait(4)
    panel.focus_on("durable-plan-up-2")
    panel.one("#durable-plan-edit-0").focus()
    key("Space")
    panel.focus_on("durable-plan-edit")
    key("Escape")
    panel.focus_on("durable-plan-edit-0")
    panel.one("#durable-plan-done-0").focus()
    key("Space")
    plan.wait(5)
    panel.one(".rxp-conflict").focus()
    key("Enter")
    panel.focus_on("rxd-title")
    panel.one("#rxd-keep").focus()
    key("Enter")
    panel.page.get_by_text("No conflict. This is what is stored.").wait_for()
    key("Escape")
    panel.one(".rx").wait_for(state="detached")

    assert plan.names() == ["c", "stored", "a"]
    panel.page.wait_for_function("document.activeElement !== document.body")


def test_a_plan_of_html_is_text_everywhere(tab: Callable[..., Panel], plan: Plan) -> None:
    plan.save(0, value("a", title=NASTY))
    plan.save(1, {"title": NASTY, "items": [{"id": NASTY[:60], "text": NASTY, "done": False}]})
    plan.save(1, {"title": NASTY, "items": [{"id": NASTY[:60], "text": NASTY + NASTY, "done": True}]})
    panel = opened(tab(chat=plan.chat))
    panel.one(".rxp-text").wait_for()
    panel.page.get_by_role("button", name="1 conflict").click()
    panel.one(".rxd-compare").wait_for()
    panel.one("#rxd-edit").click()
    panel.one("#rxd-merge-title").wait_for()

    expect(panel.one("#durable-plan-heading")).to_have_text(NASTY)
    expect(panel.one("#rxd-title")).to_have_text(NASTY)
    expect(panel.one("img[src=x]")).to_have_count(0)
    assert panel.page.evaluate("window.__broken") is None


def test_what_cannot_be_saved_says_why_and_keeps_what_was_typed(tab: Callable[..., Panel], plan: Plan) -> None:
    plan.save(0, value("a"))
    panel = opened(tab(chat=plan.chat))
    panel.page.get_by_role("button", name="Add").click()
    panel.page.get_by_text("Write a few words first.").wait_for()
    panel.one("#durable-plan-new").fill("do it later")
    panel.page.route("**/document_save", lambda route: route.abort())
    panel.page.get_by_role("button", name="Add").click()
    panel.page.get_by_text("Your change was not saved.").wait_for()

    expect(panel.one("#durable-plan-new")).to_have_value("do it later")
    expect(panel.one(".rxp-text")).to_have_text(["do a"])


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_nothing_sticks_out_sideways(tab: Callable[..., Panel], plan: Plan, width: int) -> None:
    plan.save(0, value("a", "b" * 300, "words " * 40, title="A title that is rather long for a narrow window " * 3))
    plan.save(1, value("a", "c" * 300))
    plan.save(1, value("b" * 300, done=("b" * 300,)))
    panel = tab(width=width, chat=plan.chat)
    panel.page.evaluate("Alpine.store('sidebar').isOpen = innerWidth > 700")
    opened(panel)

    def out(root: str) -> list[str]:
        return panel.still().page.evaluate(
            """(root) => [...document.querySelectorAll(`${root} *`)].filter((element) => {
              const box = element.getBoundingClientRect();
              return box.width > 1 && !element.closest('.rxp-sr, .rxd-sr') && box.right > innerWidth + 1;
            }).map((element) => `${element.tagName}.${element.className}`)""",
            root,
        )

    assert out(".durable-plan") == []
    panel.page.get_by_role("button", name="1 conflict").click()
    panel.one(".rxd-compare").wait_for()
    assert (out(".rxd"), panel.overflow()) == ([], [])
    panel.one("#rxd-edit").click()
    panel.one("#rxd-merge-title").wait_for()
    assert (out(".rxd"), panel.overflow()) == ([], [])


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_text_can_be_read(tab: Callable[..., Panel], plan: Plan, theme: str) -> None:
    conflict_of(plan)
    panel = tab(light=theme == "light", chat=plan.chat)
    sheet = "".join(f"--color-{name}: {colour} !important;" for name, colour in PALETTES[theme].items())
    panel.page.add_style_tag(content=f":root, body {{ {sheet} }}")
    opened(panel)
    texts = panel.still().page.evaluate(LOOK.replace("'.rx'", "'.durable-plan'").replace(".rx-sr", ".rxp-sr, :disabled"))
    panel.page.get_by_role("button", name="1 conflict").click()
    panel.one(".rxd-compare").wait_for()
    texts += panel.still().page.evaluate(LOOK.replace(".rx-sr", ".rxd-sr, .rx-sr"))
    panel.one("#rxd-edit").click()
    panel.one("#rxd-merge-title").wait_for()
    texts += panel.still().page.evaluate(LOOK.replace(".rx-sr", ".rxd-sr, .rx-sr, :disabled"))

    assert len(texts) > 60
    assert [text for text in texts if text["ratio"] < text["least"]] == []


def test_with_the_plugin_off_there_is_no_plan(tab: Callable[..., Panel], plan: Plan, world: World) -> None:
    plan.save(0, value("a"))
    panel = tab(chat=plan.chat)
    panel.page.get_by_role("button", name=TITLE).wait_for()
    world.client().toggle(False)
    panel.page.get_by_role("button", name=TITLE).wait_for(state="detached")
    panel.page.reload()
    panel.one("#chat-input").wait_for()

    expect(panel.one(".durable-plan")).to_have_count(0)
    world.client().toggle(True)
