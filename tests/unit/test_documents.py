"""Documents: revisions, what comes too late, and the write that one commit makes together with its call's result."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from journal.documents import KEEP_REVISIONS, KEEP_SETTLED, Way, Writer
from journal.errors import ConflictSettled, DocumentConflict, DoesNotFit, UnknownConflict, UnknownDocument
from journal.records import HoldReason, Outcome, Run, RunState
from journal.retention import Policy
from tests.store.worlds import World, model, tool

CHAT = "chat"


def plan(*texts: str, done: bool = False, title: str = "Release") -> dict[str, Any]:
    return {"title": title, "items": [{"id": text, "text": f"do {text}", "done": done} for text in texts]}


def draft(world: World, expected: int, value: Any, writer: Writer = Writer.PERSON, chat: str = CHAT) -> Any:
    return world.journal.draft(chat, "plan", expected, value, writer)


def save(world: World, expected: int, value: Any, writer: Writer = Writer.PERSON) -> Any:
    return world.journal.save_document(draft(world, expected, value, writer)).result()


def stored(world: World) -> Any:
    return world.journal.document(CHAT, "plan")


def conflict(world: World, expected: int, value: Any, writer: Writer = Writer.AGENT) -> DocumentConflict:
    with pytest.raises(DocumentConflict) as error:
        save(world, expected, value, writer)
    return error.value


def rows_of(world: World, table: str) -> int:
    with closing(sqlite3.connect(world.folder / "journal.db")) as connection:
        return int(connection.execute(f"select count(*) from {table}").fetchone()[0])


def view(world: World) -> dict[str, Any]:
    return world.journal.chat_document_view(CHAT, "plan")


# -- revisions ----------------------------------------------------------------------------------


def test_a_chat_begins_with_an_empty_plan_at_revision_0(world: World) -> None:
    found = stored(world)

    assert (found.revision, found.value, found.written_by) == (0, {"title": "", "items": []}, None)


def test_a_write_that_names_the_newest_revision_becomes_the_next(world: World) -> None:
    assert save(world, 0, plan("a")).revision == 1
    assert save(world, 1, plan("a", "b"), Writer.AGENT).revision == 2
    world.restart()

    found = stored(world)
    assert (found.revision, found.value, found.written_by) == (2, plan("a", "b"), Writer.AGENT)


def test_chats_have_plans_of_their_own(world: World) -> None:
    save(world, 0, plan("a"))
    world.journal.save_document(draft(world, 0, plan("b"), chat="other")).result()

    assert stored(world).value == plan("a")
    assert world.journal.document("other", "plan").value == plan("b")


def test_only_kinds_that_are_there_can_be_written(world: World) -> None:
    with pytest.raises(UnknownDocument):
        world.journal.draft(CHAT, "poem", 0, plan(), Writer.PERSON)


def test_the_limit_of_64_kib_is_that_of_what_is_stored(world: World) -> None:
    def long(size: int) -> dict[str, Any]:
        items = [{"id": str(n), "text": "x" * 2000, "done": False} for n in range(size)]
        return {"title": "", "items": items}

    assert save(world, 0, long(31)).revision == 1
    with pytest.raises(DoesNotFit, match=r"bytes\. At most 65536 bytes \(64 KiB\) are allowed") as refused:
        draft(world, 1, long(33))
    assert refused.value.field == "value"
    assert stored(world).revision == 1


def test_a_secret_is_hidden_before_it_is_stored_and_in_what_is_said_about_it(world: World) -> None:
    world.hide("TOKEN", "very-secret-token")
    save(world, 0, plan("a", title="use very-secret-token"))

    assert stored(world).value["title"] == "use [hidden:TOKEN]"
    with pytest.raises(DoesNotFit) as refused:
        draft(world, 1, {"title": "", "items": [{"id": "very-secret-token" * 9, "text": "x", "done": "very-secret-token"}]})
    assert "very-secret" not in str(refused.value)


def test_a_secret_that_became_known_later_is_hidden_from_a_person(world: World) -> None:
    save(world, 0, plan("a", title="use very-secret-token"))
    conflict(world, 0, plan("b", title="or very-secret-token"))
    world.hide("TOKEN", "very-secret-token")

    assert "very-secret" not in str(view(world)) + str(world.journal.documents_listing())


def test_old_revisions_go_except_what_a_conflict_is_about(world: World) -> None:
    save(world, 0, plan("a"))
    save(world, 1, plan("b"))
    conflict(world, 1, plan("mine"))
    for number in range(2, KEEP_REVISIONS + 10):
        save(world, number, plan(str(number)))

    rows = world.journal._read(lambda tx: [tx.one("document", document_id=stored(world).document_id, revision=n) for n in range(1, 8)])
    assert [row is not None for row in rows] == [True, True, False, False, False, False, False]
    assert view(world)["conflicts"][0]["base"] == 1


def test_a_write_where_nothing_is_stored_overwrites_nothing(world: World) -> None:
    """The journal was put back to a state before the plan."""
    assert save(world, 5, plan("a"), Writer.AGENT).revision == 6


# -- what comes too late ------------------------------------------------------------------------


def test_a_stale_write_changes_nothing_and_is_kept(world: World) -> None:
    save(world, 0, plan("a"))
    save(world, 1, plan("a", "b"))

    error = conflict(world, 1, plan("a", "mine"))

    assert (error.expected, error.stored) == (1, 2)
    assert stored(world).value == plan("a", "b")
    world.restart()
    [kept] = view(world)["conflicts"]
    assert (kept["conflict_id"], kept["base"], kept["found"], kept["written_by"]) == (error.conflict_id, 1, 2, "agent")
    assert kept["value"] == plan("a", "mine")


def test_the_same_write_again_is_the_one_that_was_made(world: World) -> None:
    """Its answer was lost on the way."""
    save(world, 0, plan("a"))

    assert save(world, 0, plan("a")).revision == 1
    assert stored(world).revision == 1
    assert view(world)["waiting"] == 0


def test_the_same_stale_write_again_is_one_conflict(world: World) -> None:
    save(world, 0, plan("a"))

    first, second = conflict(world, 0, plan("b")), conflict(world, 0, plan("b"))
    other = conflict(world, 0, plan("c"))

    assert first.conflict_id == second.conflict_id != other.conflict_id
    assert view(world)["waiting"] == 2


def test_a_conflict_is_shown_part_by_part_with_words(world: World) -> None:
    save(world, 0, plan("a", "b"))
    save(world, 1, plan("a"))
    conflict(world, 1, plan("a", "b", "c"))

    [shown] = view(world)["conflicts"]

    told = {part["id"]: ([w["word"] for w in part["mine_did"]], [w["word"] for w in part["stored_did"]]) for part in shown["parts"]}
    assert told == {"": ([], []), "a": ([], []), "b": ([], ["removed"]), "c": (["added"], [])}
    assert [part["id"] for part in shown["parts"] if part["differs"]] == ["b", "c"]
    assert shown["differs"] == 2
    assert shown["merged"] == plan("a", "c")


def test_the_list_has_conflicts_first_and_then_the_last_changed(world: World) -> None:
    for number in range(52):
        world.clock.turn(1)
        world.journal.save_document(draft(world, 0, plan(title=f"plan {number}"), chat=f"chat {number}")).result()
    with pytest.raises(DocumentConflict):
        world.journal.save_document(draft(world, 7, plan("late"), chat="chat 3")).result()

    first = world.journal.documents_listing()
    second = world.journal.documents_listing(first["next"])

    titles = [item["title"] for item in (*first["items"], *second["items"])]
    assert titles == ["plan 3", *(f"plan {n}" for n in reversed(range(52)) if n != 3)]
    assert (first["counts"], second["next"]) == ({"documents": 52, "in_conflict": 1, "conflicts": 1}, None)
    assert world.journal.documents_listing("nonsense")["items"] == first["items"]


# -- settling -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "merged", "value", "revision"),
    [
        (Way.KEEP_STORED, None, plan("stored"), 2),
        (Way.USE_MINE, None, plan("mine"), 3),
        (Way.MERGED, plan("stored", "mine"), plan("stored", "mine"), 3),
    ],
)
def test_a_person_settles_a_conflict(world: World, way: Way, merged: Any, value: Any, revision: int) -> None:
    save(world, 0, plan("a"))
    save(world, 1, plan("stored"))
    error = conflict(world, 1, plan("mine"))

    saved = world.journal.settle_conflict(error.conflict_id or "", way, 2, merged).result()
    world.restart()

    assert (saved.revision, stored(world).value, view(world)["waiting"]) == (revision, value, 0)
    assert stored(world).written_by is Writer.PERSON


def test_settling_what_changed_since_it_was_shown_is_refused_and_changes_nothing(world: World) -> None:
    save(world, 0, plan("a"))
    error = conflict(world, 0, plan("mine"))
    save(world, 1, plan("newer"))

    for way in Way:
        with pytest.raises(DocumentConflict) as refused:
            world.journal.settle_conflict(error.conflict_id or "", way, 1, plan("merged")).result()
        assert refused.value.stored == 2
    assert (stored(world).value, view(world)["waiting"]) == (plan("newer"), 1)


def test_a_conflict_is_settled_once(world: World) -> None:
    save(world, 0, plan("a"))
    error = conflict(world, 0, plan("mine"))
    world.journal.settle_conflict(error.conflict_id or "", Way.USE_MINE, 1).result()

    with pytest.raises(ConflictSettled):
        world.journal.settle_conflict(error.conflict_id or "", Way.KEEP_STORED, 2).result()
    for way in Way:
        with pytest.raises(UnknownConflict):
            world.journal.settle_conflict("conf_none", way, 2, plan()).result()


def test_a_merged_text_must_be_a_plan(world: World) -> None:
    save(world, 0, plan("a"))
    error = conflict(world, 0, plan("mine"))

    with pytest.raises(DoesNotFit):
        world.journal.settle_conflict(error.conflict_id or "", Way.MERGED, 1, {"title": "x"}).result()
    assert view(world)["waiting"] == 1


def test_settled_conflicts_do_not_pile_up(world: World) -> None:
    save(world, 0, plan("a"))
    for number in range(KEEP_SETTLED + 5):
        error = conflict(world, 0, plan(f"mine {number}"))
        world.journal.settle_conflict(error.conflict_id or "", Way.KEEP_STORED, 1).result()

    assert rows_of(world, "conflicts") == KEEP_SETTLED
    assert view(world)["waiting"] == 0


# -- the write of a call ------------------------------------------------------------------------

SAID = {"saved": "it is saved", "stale": "it is kept as a conflict", "late": "nothing was written"}


def opened(world: World) -> tuple[Run, Any]:
    run = world.admit(CHAT)
    world.done(run, model(1))
    return run, world.opened(run, tool(1), name="durable_plan")


def finish(world: World, call: Any, expected: int, value: Any) -> Any:
    return world.journal.finish_writing(call.call_id, draft(world, expected, value, Writer.AGENT), **SAID).result()


def test_a_write_and_its_result_are_one_commit(world: World) -> None:
    run, call = opened(world)
    before = world.journal._store.read(lambda tx: tx.one("batch_number"))["number"]  # type: ignore[index]

    done = finish(world, call, 0, plan("a"))

    assert (done.outcome, done.value, stored(world).revision) == (Outcome.OK, "it is saved", 1)
    assert world.journal._store.read(lambda tx: tx.one("batch_number"))["number"] == before + 1  # type: ignore[index]
    assert world.journal.calls(run.run_id)[-1].value == "it is saved"


def test_the_same_submission_again_writes_once(world: World) -> None:
    _, call = opened(world)
    finish(world, call, 0, plan("a"))
    save(world, 1, plan("a person's"))

    again = finish(world, call, 0, plan("a"))

    assert (again.value, again.late_results) == ("it is saved", 0)
    assert (stored(world).revision, view(world)["waiting"]) == (2, 0)


def test_a_stale_write_of_a_call_is_a_result_that_says_so(world: World) -> None:
    save(world, 0, plan("a"))
    _, call = opened(world)

    done = finish(world, call, 0, plan("late"))

    assert (done.outcome, done.value) == (Outcome.OK, "it is kept as a conflict")
    assert (stored(world).value, view(world)["waiting"]) == (plan("a"), 1)
    assert finish(world, call, 0, plan("late")).value == "it is kept as a conflict"
    assert view(world)["waiting"] == 1


def test_nothing_is_written_for_a_run_that_was_stopped(world: World) -> None:
    run, call = opened(world)
    world.journal.stop_run(run.run_id, "test").result()

    finish(world, call, 0, plan("a"))

    assert stored(world).revision == 0
    assert "nothing was written" in str(world.journal.run_view(run.run_id)["calls"][-1]["evidence"])


def test_nothing_is_written_under_an_old_token(world: World) -> None:
    run, call = opened(world)
    world.journal.begin_recovery(run.run_id).result()
    world.journal.settle(run.run_id, None).result()
    world.journal.claim(run.run_id).result()

    finish(world, call, 0, plan("a"))

    assert stored(world).revision == 0


def test_a_call_that_ends_while_its_run_is_on_hold_still_writes(world: World) -> None:
    run, call = opened(world)
    world.journal.hold_run(run.run_id, HoldReason.ASK).result()

    assert finish(world, call, 0, plan("a")).value == "it is saved"
    assert (stored(world).revision, world.journal.run(run.run_id).state) == (1, RunState.HELD)


def test_another_result_of_a_finished_call_writes_nothing(world: World) -> None:
    _, call = opened(world)
    world.journal.finish_call(call.call_id, Outcome.OK, "something else").result()

    with pytest.raises(Exception, match="different result"):
        finish(world, call, 0, plan("a"))
    assert stored(world).revision == 0


# -- what stays ---------------------------------------------------------------------------------


def ended(world: World, message: str) -> None:
    run = world.admit(CHAT, message)
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point(), []).result()


def test_nothing_in_conflict_is_removed_and_documents_outlive_their_runs(world: World) -> None:
    for message in ("m1", "m2"):
        ended(world, message)
    save(world, 0, plan("a"))
    save(world, 1, plan("stored"))
    error = conflict(world, 1, plan("mine"))
    world.clock.turn(100 * 24 * 3600)

    assert world.journal.prune(Policy(runs=0, days=1)).runs == 0
    assert view(world)["conflicts"][0]["value"] == plan("mine")
    world.journal.settle_conflict(error.conflict_id or "", Way.KEEP_STORED, 2).result()
    assert world.journal.prune(Policy(runs=0, days=1)).runs == 1
    world.restart()
    assert stored(world).value == plan("stored")
    assert [fault for part in world.journal.verify() for fault in part.faults] == []


def test_a_secret_found_later_in_a_document_names_the_newest_run_of_its_chat(world: World) -> None:
    ended(world, "m1")
    ended(world, "m2")
    save(world, 0, plan("a", title="use very-secret-token"))
    conflict(world, 0, plan("b", title="use other-secret-token"))
    world.hide("TOKEN", "very-secret-token")
    world.hide("OTHER", "other-secret-token")

    [found] = world.journal.find_secrets()

    assert (found.run_id, found.names) == (world.journal.runs_of(CHAT)[-1].run_id, ("OTHER", "TOKEN"))
