"""From which state a run may go on: what is shown, what is lost or doubled, and what a choice does (I7)."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from journal.decisions import RESTORABLE
from journal.errors import AckMissing, NotAllowed, RequestReused, RunEnded, ShownChanged, StaleVersion, TooLarge
from journal.records import Choice, Decision, Hold, HoldReason, Proceed, Run, RunState, Selection, Serve
from journal.selections import StateOffer
from tests.store.worlds import OWNER, World, model, tool

MOVED, GONE, CORRUPT = HoldReason.CHAT_MOVED_ON, HoldReason.CHAT_GONE, HoldReason.CHECKPOINT_CORRUPT


def run_of_two_steps(world: World) -> Run:
    """Three saved states: at admission, after the first step and after the second; one result is newer than all."""
    run = world.admit()
    for step in (1, 2):
        world.done(run, model(step), {"response": f"answer {step}"})
        world.journal.checkpoint(run.run_id, run.token, world.point({"A0": step}, ("hello", f"step {step}")), []).result()
    world.done(run, model(3), {"response": "answer 3"})
    return run


def held(world: World, reason: HoldReason) -> Run:
    run = run_of_two_steps(world)
    world.restart()
    world.journal.begin_recovery(run.run_id).result()
    return world.journal.settle(run.run_id, Hold(reason)).result()


def usable(world: World, run: Run) -> set[int]:
    return set(world.journal.states(run.run_id))


def offers(world: World, run: Run, among: set[int] | None = None) -> list[StateOffer]:
    return world.journal.restore_offers(run.run_id, usable(world, run) if among is None else among)[0]


def form(world: World, run: Run, offer: StateOffer, **said: Any) -> Selection:
    facts = {"ack": offer.needs_ack, "request_id": f"request-{next(world.requests)}", "origin": OWNER} | said
    version = world.journal.run(run.run_id).version
    return replace(Selection(run.run_id, version, offer.selection, offer.digest), **facts)


def choose(world: World, run: Run, offer: StateOffer, **said: Any) -> Run:
    return world.journal.choose_state(form(world, run, offer, **said), usable(world, run)).result()


THE_RESULT = "update blobs set body = x'7b7d' where digest = (select value_digest from calls order by seq limit 1 offset {})"
FIRST, SECOND = THE_RESULT.format(0), THE_RESULT.format(1)


def tamper(world: World, *statements: str) -> None:
    connection = sqlite3.connect(world.folder / "journal.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("reason", sorted(RESTORABLE, key=lambda reason: reason.value), ids=lambda reason: reason.value)
def test_every_reason_about_the_chat_has_a_way_out_besides_stop(world: World, reason: HoldReason) -> None:
    run = held(world, reason)
    back = next(offer for offer in offers(world, run) if not offer.ends_run)

    after = choose(world, run, back)

    assert (after.state, after.recoveries) == (RunState.QUEUED, 0)
    assert isinstance(world.begin(world.claim(after), model(3)), Serve)


def test_a_chat_that_moved_on_is_kept_or_taken_back_to_the_newest_state(world: World) -> None:
    keep, back = offers(world, held(world, MOVED))

    assert (keep.selection, keep.ends_run, keep.needs_ack) == ("now", True, False)
    assert "stays exactly as it is" in keep.preview
    assert (back.title, back.ends_run, back.needs_ack) == ("Go back to the state after step 2", False, True)
    assert "kept as a chat of its own" in back.preview
    assert "may happen twice" in back.preview


def test_a_chat_that_is_gone_comes_back_from_the_newest_state(world: World) -> None:
    (back,) = offers(world, held(world, GONE))

    assert (back.title, back.needs_ack) == ("Bring the chat back", False)
    assert "stay deleted" in back.preview


def test_of_states_that_cannot_be_read_the_next_older_ones_are_offered(world: World) -> None:
    run = held(world, CORRUPT)
    newest, *older = sorted(usable(world, run), reverse=True)

    titles = [offer.title for offer in offers(world, run, set(older))]

    assert titles == ["Go back to the state after step 1", "Go back to the state at the beginning of the run"]
    assert str(newest) not in [offer.selection for offer in offers(world, run, set(older))]


def test_with_an_older_state_saved_results_are_served_again_and_nothing_is_dropped(world: World) -> None:
    run = held(world, CORRUPT)
    first = min(usable(world, run))
    offer = next(offer for offer in offers(world, run, {first}) if offer.selection == str(first))
    assert not offer.needs_ack
    before = len(world.journal.states(run.run_id))

    after = world.journal.choose_state(form(world, run, offer), {first}).result()

    claim = world.claim(after)
    assert world.journal.resume_point(run.run_id).position == {"A0": 0}
    assert all(isinstance(world.begin(claim, model(step)), Serve) for step in (1, 2, 3))
    assert isinstance(world.begin(claim, tool(3)), Proceed)
    assert len(world.journal.states(run.run_id)) == before + 1


def test_from_a_record_that_cannot_be_read_on_the_steps_may_happen_twice(world: World) -> None:
    run = run_of_two_steps(world)
    world.restart()
    tamper(world, SECOND)
    run = world.journal.settle(run.run_id, Hold(CORRUPT)).result()
    assert [each["id"] for each in world.journal.run_view(run.run_id)["decisions"] if each["allowed"]] == ["stop"]
    before_it = next(offer for offer in offers(world, run) if offer.title.endswith("after step 1"))
    assert before_it.needs_ack
    assert "from step 2 on cannot be read" in before_it.preview

    with pytest.raises(AckMissing):
        choose(world, run, before_it, ack=False)
    claim = world.claim(choose(world, run, before_it))

    assert isinstance(world.begin(claim, model(2)), Proceed)
    assert [call.abandoned for call in world.journal.calls(run.run_id)] == [False, True, True, False]


def test_a_record_before_the_chosen_state_that_cannot_be_read_stops_nobody(world: World) -> None:
    run = run_of_two_steps(world)
    world.restart()
    tamper(world, FIRST)
    run = world.journal.settle(run.run_id, Hold(CORRUPT)).result()
    newest = offers(world, run)[0]
    assert (newest.title, newest.needs_ack) == ("Go back to the state after step 2", False)

    claim = world.claim(choose(world, run, newest))

    assert isinstance(world.begin(claim, model(3)), Serve)


@pytest.mark.parametrize(
    "damage",
    [
        "update runs set mode = x'00'",
        "update blobs set body = x'7b7d' where digest = (select input_digest from runs)",
        "update blobs set body = x'7b7d' where digest = (select digest from inputs)",
    ],
)
def test_a_run_whose_own_message_cannot_be_read_offers_no_state_and_says_why(world: World, damage: str) -> None:
    run = run_of_two_steps(world)
    world.journal.keep_input(run.run_id, "more", {"text": "more"}).result()
    world.restart()
    tamper(world, damage)
    run = world.journal.settle(run.run_id, Hold(CORRUPT)).result()

    found, why = world.journal.restore_offers(run.run_id, usable(world, run))

    assert found == []
    assert "cannot be read" in why
    with pytest.raises(NotAllowed):
        world.journal.choose_state(Selection(run.run_id, run.version, "1", "d", request_id="x"), {1}).result()


def test_keeping_the_chat_as_it_is_ends_the_run_and_offers_its_messages(world: World) -> None:
    run = run_of_two_steps(world)
    world.journal.keep_input(run.run_id, "more", {"text": "more"}).result()
    world.restart()
    run = world.journal.settle(run.run_id, Hold(MOVED)).result()
    assert not world.journal.ended_by_selection(run.run_id)

    after = choose(world, run, offers(world, run)[0])

    assert after.state is RunState.STOPPED
    assert world.journal.ended_by_selection(run.run_id)
    assert [item.state.value for item in world.journal.inputs(run.run_id)] == ["offered"]


def test_a_choice_waits_until_the_chat_was_brought_there_also_over_a_restart(world: World) -> None:
    run = held(world, MOVED)
    assert world.journal.waiting_selection(run.run_id) is None
    choose(world, run, offers(world, run)[1])
    world.restart()
    assert world.journal.waiting_selection(run.run_id)

    world.journal.state_restored(run.run_id).result()

    assert world.journal.waiting_selection(run.run_id) is None


def test_a_choice_is_recorded_with_its_origin_and_masked_note(world: World) -> None:
    world.hide("TOKEN", "a-long-token")
    run = held(world, GONE)

    choose(world, run, offers(world, run)[0], note="I deleted it with a-long-token", origin="panel 10.0.0.7")

    (said,) = world.journal.run_view(run.run_id)["recorded"]
    assert (said["id"], said["note"], said["origin"]) == ("restore", "I deleted it with [hidden:TOKEN]", "panel 10.0.0.7")
    assert "chosen" in " ".join(event["text"] for event in world.journal.run_view(run.run_id)["events"])


# -- what makes it stale --------------------------------------------------------------------------


def test_the_same_request_twice_is_one_choice(world: World) -> None:
    run = held(world, GONE)
    wanted = form(world, run, offers(world, run)[0])
    first = world.journal.choose_state(wanted, usable(world, run)).result()

    again = world.journal.choose_state(wanted, usable(world, run)).result()

    assert again == first
    assert len(world.journal.run_view(run.run_id)["recorded"]) == 1


def test_the_same_request_id_for_something_else_is_refused(world: World) -> None:
    run = held(world, MOVED)
    keep, back = offers(world, run)
    stop = next(each for each in world.journal.run_view(run.run_id)["decisions"] if each["id"] == "stop")
    choose(world, run, back, request_id="one")

    with pytest.raises(RequestReused):
        choose(world, run, keep, request_id="one")
    with pytest.raises(RequestReused):
        world.journal.decide(Decision(run.run_id, run.version, None, stop["digest"], Choice.STOP, request_id="one")).result()


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"version": 1}, StaleVersion),
        ({"shown_digest": "0" * 64}, ShownChanged),
        ({"selection": "999"}, NotAllowed),
        ({"selection": "; drop"}, NotAllowed),
        ({"ack": False}, AckMissing),
        ({"note": "x" * 2001}, TooLarge),
    ],
)
def test_what_is_stale_or_not_on_offer_is_refused_and_nothing_changes(world: World, said: dict[str, Any], error: type) -> None:
    run = held(world, MOVED)
    head = world.journal.head()

    with pytest.raises(error):
        choose(world, run, offers(world, run)[1], **said)

    assert (world.journal.run(run.run_id), world.journal.head()) == (run, head)


def test_a_state_that_can_no_longer_be_read_is_not_on_offer(world: World) -> None:
    run = held(world, GONE)
    wanted = form(world, run, offers(world, run)[0])

    with pytest.raises(NotAllowed) as refusal:
        world.journal.choose_state(wanted, set()).result()

    assert "No saved state" in refusal.value.why


def test_an_ended_run_has_no_state_to_choose(world: World) -> None:
    run = held(world, GONE)
    wanted = form(world, run, offers(world, run)[0])
    world.decide(run, Choice.STOP)

    with pytest.raises(RunEnded):
        world.journal.choose_state(wanted, usable(world, run)).result()


def test_a_run_that_is_held_for_something_else_has_no_state_to_choose(world: World) -> None:
    run = world.admit()
    world.opened(run, tool(1))
    world.restart()

    found, why = world.journal.restore_offers(world.recover(run).run_id, {1})

    assert found == []
    assert why
