"""The panel over the real service: a killed server, a real hold, a decision, the end of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from refhost import scenarios
from refhost.model import Model, answer, use, with_
from refhost.world import World
from tests.support.story import API

from .conftest import Panel, Site, tabs

pytestmark = [pytest.mark.browser, pytest.mark.crash]


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    with Model.start(tmp_path / "model") as model:
        yield model


@pytest.fixture
def world(tmp_path: Path, model: Model) -> Iterator[World]:
    with World(tmp_path / "world", model=model, page=True) as world:
        yield world


def test_a_killed_command_is_confirmed_in_the_panel_and_the_run_ends_without_a_second_effect(
    chromium: Browser, world: World, model: Model
) -> None:
    scenarios.held(world, model)
    with tabs(chromium, Site(world.url, world.client())) as tab:
        panel = from_the_counter(tab)
        panel.page.get_by_role("heading", name="The command may still be running.").wait_for()
        panel.choose("It happened")
        panel.one("#rx-note").fill("The release is on the page.")
        panel.submit()

        panel.page.get_by_text("Recorded. The run continues.").first.wait_for()
        panel.one(".bubble").filter(has_text="It is done.").wait_for()
        panel.one(".durable-counter").wait_for(state="detached")

    assert len(world.effects()) == 1
    assert model.unscripted() == []


def test_started_over_it_happens_twice_as_the_person_accepted(chromium: Browser, world: World, model: Model) -> None:
    scenarios.held(world, model)
    with tabs(chromium, Site(world.url, world.client())) as tab:
        panel = from_the_counter(tab)
        panel.choose("Start the step over")
        panel.page.get_by_role("checkbox").check()
        panel.submit()

        panel.one(".bubble").filter(has_text="It is done.").wait_for()

    assert len(world.effects()) == 2


def test_a_model_call_that_was_cut_off_gets_one_more_attempt(chromium: Browser, world: World, model: Model) -> None:
    scenarios.model_held(world, model)
    with tabs(chromium, Site(world.url, world.client())) as tab:
        panel = from_the_counter(tab)
        panel.choose("Allow more attempts")
        panel.page.get_by_role("button", name="Allow 1 more attempt").click()

        panel.one(".bubble").filter(has_text="The whole summary.").wait_for()


def test_a_stopped_run_stays_readable_with_its_decision(chromium: Browser, world: World, model: Model) -> None:
    scenarios.held(world, model)
    with tabs(chromium, Site(world.url, world.client())) as tab:
        panel = from_the_counter(tab)
        panel.choose("Stop the run")
        panel.one("#rx-note").fill("Not needed.")
        panel.submit()
        panel.page.get_by_text("Recorded. The run is stopped.").first.wait_for()
        panel.one("#rx-tab-all").click()
        panel.one(".rx-card").first.click()

        panel.page.get_by_text("stop the run.").first.wait_for()
        expect(panel.one(".rx-settled .rx-said").first).to_have_text("Not needed.")

    assert len(world.effects()) == 1


def test_a_chat_that_was_deleted_while_off_is_brought_back_in_the_panel(chromium: Browser, world: World, model: Model) -> None:
    scenarios.held(world, model)
    client = world.client()
    (chat,) = [entry["id"] for entry in client.poll()["contexts"]]
    client.toggle(False)
    client.remove(chat)
    client.toggle(True)
    with tabs(chromium, Site(world.url, client)) as tab:
        panel = tab().open()
        panel.one(".rx-card").first.click()
        panel.one("#rx-form").wait_for()
        panel.choose("Bring the chat back")
        panel.page.get_by_role("button", name="Go on from this state").click()

        panel.page.get_by_text("Recorded. The run continues.").first.wait_for()
        client.wait(lambda: client.context(chat), what="the chat to be back")
        client.wait_log(chat, "warning", "It may have happened")  # the step without a result is asked about, as always

    assert len(world.effects()) == 1


def from_the_counter(tab: Callable[..., Panel]) -> Panel:
    panel = tab()
    panel.one(".durable-counter").click()
    panel.one(".rx-card").first.click()
    panel.one("#rx-form").wait_for()
    return panel


def test_a_turn_is_stopped_in_its_chat_and_a_message_that_waited_is_sent_from_the_panel(
    chromium: Browser, world: World, model: Model, tmp_path: Path
) -> None:
    model.script(use("effect", arg="a", gate=str(tmp_path / "gate")), when="Deploy it")
    client = world.start().client()
    chat = client.create_chat()
    with tabs(chromium, Site(world.url, client)) as tab:
        panel = tab(chat=chat)
        client.send(chat, "Deploy it")
        stop = panel.one(".durable-stop")
        stop.wait_for()
        client.wait(lambda: world.effects(), what="the effect to start")
        client.send(chat, "And tell the team")
        stop.click()
        panel.page.get_by_role("button", name="Keep going").click()
        stop.click()
        with panel.page.expect_response("**/recovery_stop"):  # the button goes a moment before the turn ends
            panel.one(".durable-stop-ask").get_by_role("button", name="Stop").click()

        panel.one(".durable-stop-ask").wait_for(state="detached")
        panel.one(".durable-stop").wait_for(state="detached")
        assert not client.running(chat)
        model.script(answer("The team knows."), when="And tell the team")
        panel.page.evaluate(
            "run => Alpine.store('recovery').show(null, run)", client.call(API + "recovery_list", {"tab": "all"})["items"][0]["run_id"]
        )
        panel.one(".rx-left-over").get_by_role("button", name="Send").click()
        panel.one(".bubble").filter(has_text="The team knows.").wait_for()

    assert world.effects() == ["start a"]


def test_everything_is_suspended_from_the_panel_and_goes_on_when_it_is_taken_back(chromium: Browser, world: World, model: Model) -> None:
    model.script(with_(answer("Nobody hears this."), gate="never", gate_at=8), answer("The whole answer."), when="Tell me")
    client = world.start().client()
    chat = client.create_chat()
    with tabs(chromium, Site(world.url, client)) as tab:
        panel = tab(chat=chat)
        client.send(chat, "Tell me")
        model.wait_requests(1)
        panel.page.evaluate("Alpine.store('recovery').show()")
        panel.one("#rx-suspend").click()
        panel.page.get_by_role("heading", name="Safe to restart now").wait_for()
        assert not client.running(chat)
        panel.one("#rx-resume").click()
        panel.one("#rx-suspend").wait_for()
        panel.one(".bubble").filter(has_text="The whole answer.").wait_for(state="attached")

    assert len(model.requests("chat")) == 2
