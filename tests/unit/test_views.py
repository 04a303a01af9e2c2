"""What the panel is told: shapes, words, and that nothing hostile breaks it (docs/api.md, PANEL)."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from journal.errors import UnknownRun
from journal.evidence import unknown
from journal.listing import PAGE, Search
from journal.records import CallKind, Choice, HoldReason, Outcome, RunState
from journal.texts import shown, summary
from journal.values import Opaque
from journal.views import REASONS
from tests.store.worlds import NOTHING, OWNER, World, model, tool

CALL = {
    "call_id", "n", "path", "kind", "name", "summary", "arguments_masked", "status", "outcome", "text", "evidence",
    "at", "ended_at", "attempts", "abandoned", "error", "result_text", "marks", "took_ms", "saved",
}  # fmt: skip
RUN = {"run_id", "version", "state", "title", "chat_id", "parent", "job", "since", "created_at", "reason"}


def statuses(world: World, run_id: str) -> list[tuple[str, str]]:
    return [(call["status"], call["text"]) for call in world.journal.run_view(run_id)["calls"]]


def test_a_held_run_in_full(world: World) -> None:
    run = world.admit()
    world.done(run, model(1), {"response": "I push"})
    world.opened(run, tool(1), arguments={"code": "git push origin main"})
    world.journal.keep_input(run.run_id, "x", {"text": "and then?"}).result()
    world.restart()
    run = world.recover(run)

    view = world.journal.run_view(run.run_id)

    assert view["run"].keys() == RUN
    assert all(call.keys() == CALL for call in view["calls"])
    assert view["run"]["reason"] == {"code": "outcome_unknown", "text": REASONS[HoldReason.OUTCOME_UNKNOWN]}
    assert [(call["n"], call["kind"], call["summary"]) for call in view["calls"]] == [
        (1, "model", "Model call"),
        (2, "tool", "git push origin main"),
    ]
    assert view["messages"] == [{"input_id": "x", "text": "and then?", "state": "waiting", "at": world.clock.ms - 60_000}]
    assert view["processes"] == view["recorded"] == view["grants"] == []
    assert [each["id"] for each in view["decisions"]] == ["confirmed_completed", "confirmed_not_completed", "new_attempt", "resume", "stop"]
    assert next(each["reason"] for each in view["decisions"] if each["id"] == "resume") == "Step 2 is still unknown."
    json.dumps(view, allow_nan=False)


def test_each_status_of_a_call(world: World) -> None:
    run = world.admit()
    for number, outcome in enumerate((Outcome.OK, Outcome.ERROR, Outcome.UNKNOWN, Outcome.INTERRUPTED, Outcome.SUPERSEDED), 1):
        call = world.opened(run, tool(1, number))
        world.journal.finish_call(call.call_id, outcome, "v").result()
    call = world.opened(run, tool(1, 6))

    assert statuses(world, run.run_id) == [
        ("saved", "Result saved, will be reused"),
        ("error", "Error of the step saved, will be reused"),
        ("unknown", "It may have happened. The model was told so."),
        ("interrupted", "Interrupted by a message. It may still be running."),
        ("superseded", "Replaced before it answered"),
        ("running", "Running now"),
    ]

    world.restart()
    run = world.recover(run)
    assert statuses(world, run.run_id)[-1] == ("unknown", "Started, no result saved")

    claim = world.claim(world.decide(run, Choice.CONFIRMED_COMPLETED, call))
    world.begin(claim, tool(1, 1))
    assert statuses(world, run.run_id)[0] == ("reused", "Result saved, reused")
    assert statuses(world, run.run_id)[-1] == ("confirmed", "A person said that it happened")


def test_a_finished_run_promises_no_reuse(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", None, []).result()

    assert statuses(world, run.run_id) == [("saved", "Result saved")]
    assert world.journal.run_view(run.run_id)["decisions"] == []


def test_a_cut_off_model_call_offers_a_grant(world: World) -> None:
    run = world.admit()
    call = world.opened(run, model(1))
    world.restart()
    run = world.recover(run)

    view = world.journal.run_view(run.run_id)
    (grant,) = view["grants"]
    assert {key: grant[key] for key in ("call_id", "allowed", "reason", "most")} == {
        "call_id": call.call_id, "allowed": True, "reason": "", "most": 3,
    }  # fmt: skip
    assert [(step["n"], step["what"]) for step in grant["steps"]] == [(1, "runs")]

    world.journal.grant(run.run_id, run.version, call.call_id, 2, "g", OWNER).result()
    view = world.journal.run_view(run.run_id)
    assert view["grants"] == []
    assert [(each["id"], each["attempts"], each["origin"]) for each in view["recorded"]] == [("grant", 2, OWNER)]


def test_what_needs_you_is_listed_oldest_first_and_everything_newest_first(world: World) -> None:
    runs = []
    for number in range(PAGE + 10):
        world.clock.turn(1)
        run = world.admit(f"chat {number}")
        world.journal.hold_run(run.run_id, HoldReason.ASK).result()
        runs.append(run.run_id)
    finished = world.run_in(RunState.COMPLETED, "done")

    def pages(tab: str) -> list[list[str]]:
        found, cursor = [], None
        while True:
            page = world.journal.listing(tab, cursor)
            found.append([item["run_id"] for item in page["items"]])
            cursor = page["next"]
            if cursor is None:
                return found

    assert pages("needs_you") == [runs[:PAGE], runs[PAGE:]]
    assert pages("all") == [[finished.run_id, *reversed(runs)][:PAGE], [finished.run_id, *reversed(runs)][PAGE:]]
    assert world.journal.counts() == {
        "needs_you": PAGE + 10,
        "held": PAGE + 10,
        "all": PAGE + 11,
        "unfinished": PAGE + 10,
        "resumed": 0,
        "in_conflict": 0,
    }


@pytest.mark.parametrize("cursor", ["", "x", "9" * 40, "1:2:3", "-1:x", "\x00", "'; drop table runs; --"])
@pytest.mark.parametrize("tab", ["needs_you", "all"])
def test_a_cursor_from_anywhere_breaks_nothing(world: World, tab: str, cursor: str) -> None:
    world.run_in(RunState.HELD)

    assert world.journal.listing(tab, cursor)["counts"]["all"] == 1


def test_a_list_entry_says_which_step_and_since_when(world: World) -> None:
    run = world.admit()
    world.done(run, model(1))
    world.opened(run, tool(1), arguments={"code": "git push"})
    world.restart()
    run = world.recover(run)
    assert run.hold is not None

    (item,) = world.journal.listing()["items"]

    assert item["step"].pop("call_id") == world.journal.calls(run.run_id)[-1].call_id
    assert item["step"] == {"n": 2, "of": 2, "kind": "tool", "name": "shell", "summary": "git push"}
    assert (item["title"], item["since"], item["version"], item["state"]) == ("A title", run.hold.since, run.version, "held")
    assert item["reason"]["code"] == "outcome_unknown"


def test_since_is_when_the_run_came_into_its_state_whatever_it_did_since(world: World) -> None:
    run = world.admit()
    admitted = world.clock.now()
    world.clock.turn(60)
    world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}), []).result()
    world.done(run, model(1))
    world.opened(run, tool(1))
    (running,) = world.journal.listing("all")["items"]
    world.clock.turn(60)
    run = world.journal.hold_run(run.run_id, HoldReason.OUTCOME_UNKNOWN).result()
    held = world.clock.now()
    world.clock.turn(60)
    view = world.journal.run_view(run.run_id)["run"]
    stopped = world.journal.stop_run(run.run_id, "panel").result()

    assert (running["state"], running["since"]) == ("running", admitted)
    assert (view["state"], view["since"]) == ("held", held)
    assert world.journal.run_view(run.run_id)["run"]["since"] == stopped.changed_at == world.clock.now()


def test_runs_that_went_on_by_themselves_are_counted(world: World) -> None:
    run = world.admit()
    world.restart()
    world.claim(world.recover(run))

    assert world.journal.counts()["resumed"] == 1


def test_a_title_of_markup_stays_text(world: World) -> None:
    title = "<img src=x onerror=alert(1)>"
    run = world.journal.admit("c", "m", {}, title, {}, world.point()).result().run

    assert world.journal.run_view(run.run_id)["run"]["title"] == title


HOSTILE = {
    "nan": math.nan,
    "bytes": b"\xff\x00",
    "surrogate": "\ud800",
    "object": Opaque("T", "x" * 10_000),
    "big": 10**500,
    "wide": 2**60,
    "keys": {1: 2, (1, 2): 3, b"x": 4},
    "set": {1, 2},
    "long": "x" * 100_000,
}


def test_hostile_values_are_shown_as_plain_json(world: World) -> None:
    run = world.admit(content=HOSTILE)
    world.done(run, tool(1), HOSTILE, arguments=HOSTILE)
    world.journal.keep_input(run.run_id, "x", {"no": "text"}).result()

    view = world.journal.run_view(run.run_id)

    text = json.dumps(view, allow_nan=False, ensure_ascii=False)
    text.encode()
    shown = view["calls"][0]["arguments_masked"]
    assert (shown["nan"], shown["bytes"], shown["wide"]) == ("nan", "(2 bytes)", str(2**60))
    assert shown["long"].endswith("… (96000 more characters)")


def test_a_result_over_64_kib_is_not_put_into_the_page(world: World) -> None:
    run = world.admit()
    world.done(run, tool(1, 0), "x" * (64 * 1024))
    world.done(run, tool(1, 1), "x" * (64 * 1024 + 1))

    short, long = world.journal.run_view(run.run_id)["calls"]

    assert len(short["result_text"]) == 64 * 1024
    assert long["result_text"] is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"code": "ls\n -la", "session": 0}, "ls -la"),
        ({}, "shell"),
        ({"data": b"x", "flag": True}, "shell"),
        ("words", "words"),
        (None, "shell"),
        ({"code": "x" * 200}, "x" * 120 + "…"),
    ],
)
def test_a_step_in_one_line(arguments: Any, expected: str) -> None:
    assert summary(CallKind.TOOL, "shell", arguments) == expected


def test_every_reason_says_what_is_safe() -> None:
    assert REASONS.keys() == set(HoldReason)
    assert all(text.split(". ")[-1].startswith(("Nothing was", "The run is left")) for text in REASONS.values())


def test_an_unknown_run_is_refused(world: World) -> None:
    with pytest.raises(UnknownRun):
        world.journal.run_view("run_of_nobody")


def test_two_names_that_look_alike_are_both_shown() -> None:
    assert shown({1: "a", "1": "b", "x" * 5000 + "y": 1, "x" * 5000 + "z": 2}).keys() >= {"1", "1 #2"}
    assert len(shown({1: "a", "1": "b", "x" * 5000 + "y": 1, "x" * 5000 + "z": 2})) == 4


def test_a_number_too_wide_for_decimals_can_be_shown(world: World) -> None:
    run = world.admit()
    world.done(run, tool(1), arguments={"number": 10**5000})

    view = world.journal.run_view(run.run_id)

    assert view["calls"][0]["summary"].startswith("0x")
    json.dumps(view, allow_nan=False)


def test_what_a_check_saw_and_what_came_late_is_shown_masked(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.journal.lose_call(run.run_id, run.token, call.call_id, NOTHING, unknown("the mailbox of a-long-token was busy")).result()
    world.journal.stop_run(run.run_id, "panel").result()
    world.journal.finish_call(call.call_id, Outcome.OK, {"message": "sent to a-long-token"}).result()
    world.hide("TOKEN", "a-long-token")
    world.clock.turn(5)

    (shown_call,) = world.journal.run_view(run.run_id)["calls"]
    found = {each["what"]: each["text"] for each in shown_call["evidence"]}

    assert found["check"] == "This could not be told. the mailbox of [hidden:TOKEN] was busy"
    assert found["late result"].endswith("changed nothing. sent to [hidden:TOKEN]")


def test_what_came_late_and_is_long_is_cut_and_damage_is_said(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.journal.stop_run(run.run_id, "panel").result()
    world.journal.finish_call(call.call_id, Outcome.OK, {"message": "long " * 10_000}).result()

    (shown_call,) = world.journal.run_view(run.run_id)["calls"]
    (late,) = [each["text"] for each in shown_call["evidence"] if each["what"] == "late result"]

    assert len(late) < 5_000
    assert late.endswith("more characters)")


# -- search -----------------------------------------------------------------------------------------


def titles(world: World, words: str, *chats: str) -> list[str]:
    return [item["chat_id"] for item in world.journal.listing("all", None, Search(words, chats))["items"]]


def test_a_search_finds_names_steps_states_and_the_chats_that_have_the_name_now(world: World) -> None:
    for chat in ("one", "two", "three"):
        run = world.journal.admit(chat, "m", {"text": "x"}, f"Deploy {chat}, 100%_sure", {}, world.point()).result().run
        if chat == "two":
            world.done(run, tool(1), name="send_mail")
            world.journal.stop_run(run.run_id, "test").result()

    assert titles(world, "deploy") == ["three", "two", "one"]
    assert titles(world, "ploy tw") == ["two"]
    assert titles(world, "SEND_MAIL") == ["two"]
    assert titles(world, "stopped") == ["two"]
    assert titles(world, "renamed since", "one") == ["one"]
    assert titles(world, "%_sure") == ["three", "two", "one"]
    assert titles(world, "y%t") == titles(world, "De_loy") == titles(world, "\\") == []
    assert titles(world, "  ") == ["three", "two", "one"]


def test_a_search_is_paged_like_the_list(world: World) -> None:
    for number in range(PAGE + 3):
        world.run_in(RunState.COMPLETED, f"chat {number}")

    first = world.journal.listing("all", None, Search("title"))
    second = world.journal.listing("all", first["next"], Search("title"))

    assert (len(first["items"]), len(second["items"]), second["next"]) == (PAGE, 3, None)
