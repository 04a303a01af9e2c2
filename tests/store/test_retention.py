"""Old runs go whole, their messages stay repeats, and nothing that is in use goes with them."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journal import codec, collection, retention
from journal.errors import InputConflict, StoreFull, StoreLost, UnknownRun
from journal.ids import Digest
from journal.records import Choice, Hold, HoldReason, InputState, Outcome, ResumePoint, Run, RunState
from journal.retention import Policy
from journal.store import queries
from journal.store.bodies import LARGE
from journal.trees import Pack, children
from tests.store.test_sqlite import files_end_at
from tests.store.worlds import MODE, World, model, tool

ROOT = Path(__file__).resolve().parents[2]
FEW = Policy(runs=1, days=30)
BIG = "x" * (LARGE + 1)


def turn(world: World, chat: str, number: int, *, value: str = "fine", state: RunState = RunState.COMPLETED) -> Run:
    """A whole run with everything that a run can have."""
    run = world.admit(chat, f"{chat} {number}")
    world.done(run, model(1), {"response": f"{chat} {number} {value}"})
    world.done(run, tool(1), f"{value} {chat} {number}", arguments={"code": f"git push {chat} {number}"})
    kept = world.journal.keep_input(run.run_id, f"{chat} {number} more", {"text": "more"}).result()
    for step in range(1, 4):
        point = world.point({"A0": step}, history=("hello", f"{chat} {number} {step} {value}"))
        world.journal.checkpoint(run.run_id, run.token, point, [kept.input_id]).result()
    world.journal.close_run(
        run.run_id, run.token, state, f"answer {number}", world.point(history=("hello", f"{chat} end {number}")), []
    ).result()
    world.clock.turn(1)
    return world.journal.run(run.run_id)


def later(world: World, days: float = 31) -> None:
    world.clock.turn(days * 86_400)


def tables(world: World) -> dict[str, int]:
    connection = sqlite3.connect(world.folder / "journal.db")
    names = [row[0] for row in connection.execute("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")]
    counts = {name: connection.execute(f"select count(*) from {name}").fetchone()[0] for name in names}
    counts["parts"] = connection.execute("select count(*) from blobs where is_node = 1").fetchone()[0]
    counts["blobs"] -= counts["parts"]
    assert connection.execute("pragma foreign_key_check").fetchall() == []
    assert connection.execute("pragma quick_check").fetchone() == ("ok",)
    connection.close()
    return counts


def is_readable(world: World) -> None:
    """Every run that is left shows all it has, and its newest state is whole."""
    for row in world.journal.listing("all")["items"]:
        run = world.journal.run(row["run_id"])
        assert not run.damaged
        world.journal.calls(run.run_id)
        world.journal.run_view(run.run_id)
        point = world.journal.resume_point(run.run_id)
        assert [point.tree.value(each) for each in point.tree.list(point.tree.value(point.root)["history"])]


def left(world: World) -> list[str]:
    return sorted(item["run_id"] for item in world.journal.listing("all")["items"])


# -- what goes ------------------------------------------------------------------------------------


def test_old_runs_go_and_the_newest_ones_stay(world: World) -> None:
    runs = [turn(world, "chat", number) for number in range(4)]
    later(world)

    removed = world.journal.prune(Policy(runs=2, days=30))

    assert left(world) == [run.run_id for run in runs[2:]]
    assert (removed.runs, removed.complete, removed.problem) == (2, True, "")
    is_readable(world)
    with pytest.raises(UnknownRun):
        world.journal.run(runs[0].run_id)


def test_young_runs_stay_however_many_there_are(world: World) -> None:
    for number in range(4):
        turn(world, "chat", number)
    later(world, 29)

    assert world.journal.prune(FEW).runs == 0


def test_nothing_of_a_removed_run_is_left_but_its_tombstones(world: World) -> None:
    runs = [turn(world, "chat", number, value=BIG) for number in range(3)]
    later(world)

    world.journal.prune(FEW)

    counts = tables(world)
    world.journal.close()
    raw = b"".join(path.read_bytes() for path in world.folder.rglob("*") if path.is_file())
    world.journal = world._open()
    for number in (0, 1):
        assert f"git push chat {number}".encode() not in raw
        assert f"answer {number}".encode() not in raw
    assert b"git push chat 2" in raw
    assert (counts["runs"], counts["calls"], counts["attempts"], counts["checkpoints"], counts["inputs"]) == (1, 2, 0, 1, 1)
    assert counts["tombstones"] == 4
    assert len(runs) == 3


def test_a_plan_says_what_a_round_then_does_and_changes_nothing(world: World) -> None:
    for number in range(4):
        turn(world, "chat", number, value=BIG)
    later(world)
    before = tables(world)

    planned = world.journal.plan(FEW)

    assert tables(world) == before
    assert world.journal.prune(FEW) == planned
    assert planned.runs == 3
    assert planned.files > 3
    assert planned.bytes > 3 * LARGE
    assert world.journal.plan(FEW).bytes == 0


def test_of_a_finished_run_the_newest_checkpoint_is_enough(world: World) -> None:
    run = turn(world, "chat", 1)

    removed = world.journal.prune(FEW)

    assert (removed.runs, removed.checkpoints) == (0, 4)
    assert removed.nodes > 3
    assert world.journal.resume_point(run.run_id).seq == run.checkpoint_seq
    is_readable(world)


def test_of_an_unfinished_run_the_newest_few_stay(world: World) -> None:
    run = world.admit()
    for step in range(1, 10):
        world.journal.checkpoint(run.run_id, run.token, world.point({"A0": step}, history=(f"{step}",)), []).result()

    world.journal.prune(FEW)

    assert tables(world)["checkpoints"] == retention.KEEP_POINTS
    assert world.journal.resume_point(run.run_id).position == {"A0": 9}
    is_readable(world)


@pytest.mark.parametrize("reason", [HoldReason.CHECKPOINT_CORRUPT, HoldReason.RESTORED])
def test_of_a_run_whose_state_cannot_be_read_every_checkpoint_stays(world: World, reason: HoldReason) -> None:
    run = world.admit()
    for step in range(1, 10):
        world.journal.checkpoint(run.run_id, run.token, world.point({"A0": step}, history=(f"{step}",)), []).result()
    world.journal.settle(run.run_id, Hold(reason)).result()

    assert (world.journal.plan(FEW).nodes, world.journal.plan(FEW).bodies) == (0, 0)
    assert world.journal.plan(FEW).checkpoints == world.journal.prune(FEW).checkpoints == 0
    assert tables(world)["checkpoints"] == 10


def test_a_run_with_many_rows_goes_in_several_transactions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.admit("chat", "first")
    for step in range(1, 60):
        world.done(run, model(step), step)
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point(), []).result()
    turn(world, "chat", 2)
    later(world)
    batches: list[int | None] = []
    remove = retention.remove_some
    monkeypatch.setattr(retention, "ROWS_AT_ONCE", 50)
    monkeypatch.setattr(retention, "remove_some", lambda *told: (batches.append(remove(*told)), batches[-1])[1])

    removed = world.journal.prune(Policy(runs=0, days=30))

    assert removed.runs == 1
    assert batches[:-1] == [50] * (len(batches) - 1)
    assert len(batches) > 3
    assert batches[-1] is not None
    assert batches[-1] < 50
    is_readable(world)


# -- what stays -----------------------------------------------------------------------------------


def test_the_newest_run_of_a_chat_stays_however_old_it_is(world: World) -> None:
    runs = [turn(world, f"chat {number}", 1) for number in range(3)]
    later(world, 400)

    assert world.journal.prune(Policy(runs=0, days=1)).runs == 0
    assert left(world) == [run.run_id for run in runs]


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.QUEUED, RunState.HELD])
def test_an_unfinished_run_stays(world: World, state: RunState) -> None:
    run = world.run_in(state, "chat")
    later(world, 400)

    world.journal.prune(Policy(runs=0, days=1))

    assert world.journal.run(run.run_id).state is state


def test_a_run_whose_messages_are_not_delivered_stays(world: World) -> None:
    run = world.admit("chat", "first")
    world.journal.keep_input(run.run_id, "offered", {"text": "later"}).result()
    world.journal.stop_run(run.run_id, "test").result()
    turn(world, "chat", 2)
    later(world)

    assert world.journal.prune(Policy(runs=0, days=30)).runs == 0
    assert world.journal.inputs(run.run_id)[0].state is InputState.OFFERED


def test_a_run_stays_while_one_that_it_started_goes_on(world: World) -> None:
    parent = world.admit("chat", "first")
    call = world.done(parent, tool(1))
    child = world.admit("chat 2", "child")
    world.journal._write(
        lambda scribe: scribe.tx._connection.execute("update runs set parent_call_id = ? where run_id = ?", (call.call_id, child.run_id))  # type: ignore[attr-defined]
    ).result()
    world.journal.close_run(parent.run_id, parent.token, RunState.COMPLETED, "bye", None, []).result()
    turn(world, "chat", 2)
    later(world)

    assert world.journal.prune(Policy(runs=0, days=30)).runs == 0
    world.journal.close_run(child.run_id, child.token, RunState.COMPLETED, "bye", None, []).result()
    assert world.journal.prune(Policy(runs=0, days=30)).runs == 1
    for run in (parent, child):
        with pytest.raises(UnknownRun):
            world.journal.run(run.run_id)
    tables(world)


def put_in_conflict(world: World, chat: str) -> None:
    def conflict(scribe: Any) -> None:
        body = scribe.store(codec.body("plan"))
        run = scribe.tx._connection.execute
        run("insert into documents values ('d', 1, ?, 'plan', ?, 'a', 1, 1)", (chat, body))
        run("insert into conflicts values ('c', 'd', 1, 1, ?, 'b', 'open', 1, 1)", (body,))

    world.journal._write(conflict).result()


def test_a_run_of_a_chat_in_conflict_stays(world: World) -> None:
    turn(world, "chat", 1)
    turn(world, "chat", 2)
    later(world)
    put_in_conflict(world, "chat")

    assert world.journal.prune(Policy(runs=0, days=30)).runs == 0
    assert tables(world)["blobs"] > 0


def test_what_gets_a_reason_to_stay_after_it_was_chosen_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(world, "chat", 1)
    turn(world, "chat", 2)
    later(world)
    choose = retention.due
    monkeypatch.setattr(retention, "due", lambda *told: (choose(*told), writing.start(), writing.join())[0])
    writing = threading.Thread(target=put_in_conflict, args=(world, "chat"))

    assert world.journal.prune(Policy(runs=0, days=30)).runs == 0
    assert len(left(world)) == 2


def test_late_results_and_decisions_of_an_unfinished_run_stay(world: World) -> None:
    run = world.admit()
    call = world.opened(run, tool(1))
    world.journal.hold_run(run.run_id, HoldReason.OUTCOME_UNKNOWN, call_id=call.call_id).result()
    world.decide(run, Choice.CONFIRMED_COMPLETED, call)
    world.journal.finish_call(call.call_id, Outcome.OK, f"late {BIG}").exception()
    later(world, 400)
    before = tables(world)

    world.journal.prune(Policy(runs=0, days=1))

    assert tables(world) | {"events": 0, "parts": 0} == before | {"events": 0, "parts": 0}
    assert world.journal.calls(run.run_id)[0].late_results == 1


def test_a_run_that_something_newer_refers_to_is_left_and_said(world: World) -> None:
    first, second = turn(world, "chat", 1), turn(world, "chat", 2)
    turn(world, "chat", 3)
    later(world)
    world.journal._write(
        lambda scribe: [
            scribe.tx._connection.execute("create table later (run_id text references runs (run_id)) strict"),  # type: ignore[attr-defined]
            scribe.tx._connection.execute("insert into later values (?)", (first.run_id,)),  # type: ignore[attr-defined]
        ]
    ).result()

    removed = world.journal.prune(Policy(runs=0, days=30))

    assert (removed.runs, first.run_id in removed.problem) == (1, True)
    assert world.journal.run(first.run_id).answer == "answer 1"
    with pytest.raises(UnknownRun):
        world.journal.run(second.run_id)
    is_readable(world)


# -- tombstones -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.FAILED])
def test_the_message_of_a_removed_run_is_still_a_repeat(world: World, state: RunState) -> None:
    run = turn(world, "chat", 1, state=state)
    turn(world, "chat", 2)
    later(world)
    world.journal.prune(FEW)

    found = world.journal.find_input("chat", "chat 1", {"text": "please chat 1"})
    admitted = world.journal.admit("chat", "chat 1", {"text": "please chat 1"}, "T", MODE, world.point()).result()

    assert found is not None
    assert found[0] == "same"
    assert admitted.repeat
    assert admitted.run == found[1]
    assert (admitted.run.run_id, admitted.run.state, admitted.run.is_removed, admitted.run.answer) == (run.run_id, state, True, None)
    assert world.journal.unfinished() == []


def test_other_content_under_the_same_id_is_still_refused(world: World) -> None:
    turn(world, "chat", 1)
    turn(world, "chat", 2)
    later(world)
    world.journal.prune(FEW)

    for message in ("chat 1", "chat 1 more"):
        found = world.journal.find_input("chat", message, {"text": "other"})
        assert found is not None
        assert found[0] == "other"
        with pytest.raises(InputConflict):
            world.journal.admit("chat", message, {"text": "other"}, "T", MODE, world.point()).result()


def test_a_message_that_came_in_between_is_still_a_repeat(world: World) -> None:
    run = turn(world, "chat", 1)
    turn(world, "chat", 2)
    later(world)
    world.journal.prune(FEW)

    found = world.journal.find_input("chat", "chat 1 more", {"text": "more"})
    admitted = world.journal.admit("chat", "chat 1 more", {"text": "more"}, "T", MODE, world.point(), claim_waiting=True).result()

    assert found is not None
    assert found[0] == "same"
    assert (admitted.repeat, admitted.run.run_id, admitted.run.is_removed) == (True, run.run_id, True)


def test_tombstones_outlive_a_restart_and_further_rounds(world: World) -> None:
    turn(world, "chat", 1)
    turn(world, "chat", 2)
    later(world)
    world.journal.prune(FEW)
    world.restart()
    later(world, 1000)
    world.journal.prune(FEW)

    assert world.journal.find_input("chat", "chat 1", {"text": "please chat 1"}) is not None


# -- collection -----------------------------------------------------------------------------------


def test_every_column_that_refers_to_a_body_is_looked_at(world: World) -> None:
    connection = sqlite3.connect(world.folder / "journal.db")
    names = [row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")]
    referring = {(table, row[3]) for table in names for row in connection.execute(f"pragma foreign_key_list({table})") if row[2] == "blobs"}
    connection.close()
    looked = re.findall(r"select +(?:e\.)?(\w+) +from (\w+)", queries.load("sqlite")["unnamed_bodies"])

    assert {(table, column) for column, table in looked} >= referring
    assert len(referring) >= 10
    assert "c.body" in queries.load("sqlite")["kept_roots"]


def rows_of(world: World, value: str) -> list[int]:
    """The marks of the rows that hold this value."""
    connection = sqlite3.connect(world.folder / "journal.db")
    found = [row[0] for row in connection.execute("select is_node from blobs where digest = ?", (codec.body(value).digest,))]
    connection.close()
    return found


def shared_turn(world: World, chat: str, message: str, value: str, *, state_first: bool = False, last: str = "hello") -> Run:
    """A call's result that is a message of the chat's history as well."""
    run = world.admit(chat, message)
    work = [
        lambda: world.done(run, tool(1), value),
        lambda: world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}, ("hello", value)), []).result(),
    ]
    for each in reversed(work) if state_first else work:
        each()
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", world.point(history=(last,)), []).result()
    world.clock.turn(1)
    return run


@pytest.mark.parametrize("state_first", [False, True])
@pytest.mark.parametrize("value", ["shared", BIG], ids=["small", "large"])
def test_a_result_that_the_chat_shows_is_stored_once_and_goes_when_neither_names_it(world: World, value: str, state_first: bool) -> None:
    run = shared_turn(world, "chat", "first", value, state_first=state_first)
    assert rows_of(world, value) == [1]

    thinned = world.journal.prune(FEW)  # no state leads there any more, the call does
    assert (thinned.checkpoints, thinned.problem) == (2, "")
    assert world.journal.calls(run.run_id)[0].value == value
    assert rows_of(world, value) == [1]

    turn(world, "chat", 2)
    later(world)
    planned = world.journal.plan(FEW)
    assert world.journal.prune(FEW) == planned
    assert (planned.runs, planned.nodes > 0) == (1, True)
    assert rows_of(world, value) == []
    assert not any(path.is_file() for path in (world.folder / "blobs").rglob("*"))
    is_readable(world)


def test_a_result_whose_run_went_stays_for_the_state_that_shows_it(world: World) -> None:
    shared_turn(world, "chat", "first", "shared")
    turn(world, "chat", 2)
    shared_turn(world, "other", "m", "another", last="shared")
    later(world)

    assert world.journal.prune(FEW).runs == 1

    assert rows_of(world, "shared") == [1]
    is_readable(world)


def test_a_value_that_never_was_part_of_a_state_goes_also_while_one_cannot_be_read(world: World) -> None:
    for number in range(2):
        shared_turn(world, "chat", f"m{number}", f"shared {number}")
    run = world.admit("chat", "last")
    world.journal.checkpoint(run.run_id, run.token, world.point(history=("unreadable",)), []).result()
    world.done(world.admit("other", "m"), tool(1), "a value")
    later(world)
    connection = sqlite3.connect(world.folder / "journal.db", isolation_level=None)
    connection.execute("update blobs set body = x'31' where digest = ?", (codec.body("unreadable").digest,))
    connection.execute("pragma foreign_keys = off")
    connection.execute("update calls set outcome = null, value_digest = null, result_digest = null, ended_at = null")
    connection.close()
    before = tables(world)["parts"]

    removed = world.journal.prune(Policy(runs=0, days=30))

    assert (removed.runs, removed.nodes) == (2, 0)
    assert "cannot be read" in removed.problem
    assert removed.bodies > 0
    assert rows_of(world, "a value") == []
    assert [rows_of(world, f"shared {number}") for number in range(2)] == [[1], [1]]
    assert tables(world)["parts"] == before


def test_a_part_that_two_chats_share_stays_for_the_one_that_is_left(world: World) -> None:
    for chat in ("one", "two"):
        for number in range(2):
            turn(world, chat, number)
    later(world)

    world.journal.prune(Policy(runs=0, days=30))

    assert len(left(world)) == 2
    is_readable(world)


def while_it_collects(world: World, monkeypatch: pytest.MonkeyPatch, work: Callable[[], None]) -> Any:
    """One round in which something happens after the look and before the first removal."""
    look = collection.look

    def looked(*told: Any) -> Any:
        found = look(*told)
        work()
        return found

    monkeypatch.setattr(collection, "look", looked)
    return world.journal.prune(Policy(runs=0, days=30))


def test_a_body_that_is_named_again_while_it_is_collected_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(world, "chat", 1, value=BIG)
    turn(world, "chat", 2)
    later(world)
    seen: list[Run] = []

    def work() -> None:
        run = world.admit("other", "new")
        world.done(run, tool(1), f"{BIG} chat 1", arguments={"code": "git push chat 1"})
        seen.append(run)

    while_it_collects(world, monkeypatch, work)

    (call,) = world.journal.calls(seen[0].run_id)
    assert (call.value, call.arguments) == (f"{BIG} chat 1", {"code": "git push chat 1"})
    tables(world)


def test_a_body_that_is_about_to_be_named_keeps_its_file(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is there already and is not written again; the operation that names it comes after the removal."""
    turn(world, "chat", 1, value=BIG)
    turn(world, "chat", 2)
    call = world.opened(world.admit("other", "new"), tool(1))
    later(world)
    body = codec.body(f"{BIG} chat 1")
    flight: list[Any] = []

    while_it_collects(world, monkeypatch, lambda: flight.append(world.journal._store.keep([(body.digest, body.data)])))
    world.journal.finish_call(call.call_id, Outcome.OK, f"{BIG} chat 1").result()
    flight[0].release()

    assert world.journal.calls(call.run_id)[0].value == f"{BIG} chat 1"


def test_a_saved_state_that_comes_back_while_it_is_collected_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(world, "chat", 1)
    turn(world, "chat", 2)
    later(world)
    old = world.point({"A0": 3}, history=("hello", "chat 1 3 fine"))
    run = world.admit("other", "new")

    while_it_collects(world, monkeypatch, lambda: world.journal.checkpoint(run.run_id, run.token, old, []).result())

    is_readable(world)
    assert world.journal.resume_point(run.run_id).root == old.root


def test_a_run_that_ends_while_it_is_collected_keeps_what_its_checkpoints_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had a few checkpoints when those beyond that went, and of a finished one only the newest would stay."""
    run = world.admit("chat", "m")
    for step in range(4):
        world.journal.checkpoint(run.run_id, run.token, world.point(history=(f"{step}",)), []).result()
    look = collection.look

    def late(*told: Any) -> Any:
        world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye", None, []).result()
        return look(*told)

    monkeypatch.setattr(collection, "look", late)
    world.journal.prune(FEW)

    assert tables(world)["checkpoints"] == 5
    is_readable(world)


def test_what_a_chat_does_not_hand_in_again_is_not_collected(world: World) -> None:
    """A state that returns to an earlier one hands in its root and nothing else: all of it was known."""
    run = world.admit("chat", "m")
    known = world.journal.known("chat")

    def point(text: str) -> ResumePoint:
        pack = Pack(world.masker, known)
        root = pack.root({"history": pack.list([pack.put(text)])})
        return ResumePoint(root, pack.nodes, {"A0": 1})

    def save(made: ResumePoint) -> None:
        world.journal.checkpoint(run.run_id, run.token, made, []).result()
        known.update(made.nodes)

    save(point("first"))
    for number in range(8):
        save(point(f"{number}"))
    world.journal.prune(FEW)
    again = point("first")
    assert list(again.nodes) == [again.root]
    save(again)

    is_readable(world)
    save(point("other"))
    for number in range(8):
        save(point(f"{number}"))
    world.journal.forget_known("chat")
    world.journal.prune(FEW)
    assert len(point("first").nodes) > 1
    save(point("first"))
    is_readable(world)


def test_a_saved_state_that_cannot_be_read_whole_loses_nothing(world: World) -> None:
    run = world.admit("chat", "m")
    for step in range(8):
        world.journal.checkpoint(run.run_id, run.token, world.point(history=(f"{step}", f"{step}{BIG}")), []).result()
    for path in (world.folder / "blobs").rglob("*"):
        if path.is_file() and path.read_bytes().endswith(f"7{BIG}".encode()):
            path.write_bytes(b"damaged")
    before = tables(world)["parts"]

    removed = world.journal.prune(FEW)

    assert (removed.nodes, removed.checkpoints) == (0, 4)
    assert "cannot be read" in removed.problem
    assert tables(world)["parts"] == before


def test_a_text_that_looks_like_a_digest_stops_nothing(world: World) -> None:
    for number in range(2):
        turn(world, "chat", number)
    run = world.admit("other", "m")
    world.journal.checkpoint(run.run_id, run.token, world.point(history=("f" * 64,)), []).result()
    later(world)

    removed = world.journal.prune(Policy(runs=0, days=30))

    assert removed.problem == ""
    assert removed.nodes > 0
    is_readable(world)


def test_every_way_from_node_to_node_is_found() -> None:
    one, two = Digest("1" * 64), Digest("2" * 64)

    assert children(codec.encode({"a": one, "b": [two, "3" * 63]})) == [one, two]
    assert children(codec.encode({one: {"$": two}})) == [one, two]
    assert children(codec.encode({5: [one], "long": "x" * 100_000})) == [one]
    assert children(b"L\x00" + bytes.fromhex(one) + bytes.fromhex(two)) == [one, two]


def test_a_file_that_no_record_names_goes_when_it_is_old_enough(world: World) -> None:
    data = BIG.encode()
    digest = codec.digest(data)
    world.journal._store.keep([(digest, data)]).release()
    unfinished = world.folder / "blobs" / "ab" / f"{digest}.new"
    unfinished.parent.mkdir(exist_ok=True)
    unfinished.write_bytes(b"half")
    file = world.folder / "blobs" / digest[:2] / digest
    for path, age in ((file, 0.5), (unfinished, 0.5)):
        moment = world.clock.ms / 1000 - age * 3600
        os.utime(path, (moment, moment))

    assert world.journal.prune(FEW).files == 0
    world.clock.turn(3600)
    assert world.journal.prune(FEW).files == 2
    assert (file.exists(), unfinished.exists()) == (False, False)


# -- beside running chats -------------------------------------------------------------------------


def test_a_round_can_be_stopped_between_any_two_batches_and_begun_again(world: World) -> None:
    for number in range(6):
        turn(world, "chat", number, value=BIG)
    later(world)
    rounds = 0

    while True:
        breaths = iter([False] * rounds + [True])
        if world.journal.prune(FEW, rest=lambda breaths=breaths: next(breaths)).complete:  # type: ignore[misc]
            break
        rounds += 1
        is_readable(world)
        tables(world)

    assert rounds > 4
    assert len(left(world)) == 1
    assert world.journal.plan(FEW).bytes == 0


def test_chats_work_while_old_runs_go(world: World) -> None:
    for number in range(12):
        turn(world, "old", number)
    later(world)
    done, problems = threading.Event(), []

    def work(chat: str) -> None:
        number = 0
        try:
            while not done.is_set() or number < 3:
                number += 1
                turn(world, chat, number, value="fine" if number % 5 else BIG)
        except Exception as problem:
            problems.append(problem)

    chats = [threading.Thread(target=work, args=(chat,)) for chat in ("a", "b")]
    for chat in chats:
        chat.start()
    for _ in range(4):
        world.journal.prune(FEW)
    done.set()
    for chat in chats:
        chat.join()

    assert problems == []
    assert len([run for run in world.journal.runs_of("old")]) == 1
    is_readable(world)
    tables(world)


def test_a_full_disk_ends_a_round_with_a_clear_error_and_the_next_one_finishes_it(world: World) -> None:
    for number in range(4):
        turn(world, "chat", number, value=BIG)
    later(world)
    world.restart()

    with files_end_at((world.folder / "journal.db-wal").stat().st_size + 5000), pytest.raises((StoreFull, StoreLost)):
        world.journal.prune(FEW)

    is_readable(world)
    assert len(left(world)) == 4
    assert world.journal.prune(FEW).runs == 3
    is_readable(world)
    tables(world)


def test_the_head_of_the_journal_never_falls(world: World) -> None:
    first = turn(world, "chat", 1)
    turn(world, "chat", 2)
    call = world.journal.calls(first.run_id)[0]
    later(world)
    world.journal.finish_call(call.call_id, Outcome.OK, "later").result()
    before = world.journal.head()

    world.journal.prune(FEW)

    assert world.journal.head() > before


BACKUP = """
import sys
from pathlib import Path
from journal import backup
from journal.store import copying

look = copying.damaged_bodies


def wait_then_look(*asked):  # the database is copied, and no file yet
    print("copied", flush=True)
    sys.stdin.readline()
    return look(*asked)


copying.damaged_bodies = wait_then_look
print(backup.make(Path(sys.argv[1])).manifest.damaged)
"""


def test_a_backup_of_another_process_loses_nothing_to_a_round(world: World) -> None:
    for number in range(3):
        turn(world, "chat", number, value=f"{number}{BIG}")
    later(world)
    command = [sys.executable, "-c", BACKUP, str(world.folder)]
    copying = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert copying.stdout
    assert copying.stdout.readline() == "copied\n"

    beside = world.journal.prune(FEW)
    said, _ = copying.communicate("go on\n", timeout=60)
    after = world.journal.prune(FEW)

    assert said == "[]\n"
    assert (beside.files, beside.complete) == (0, False)
    assert "A backup is being made" in beside.problem
    assert (after.files > 0, after.complete, after.problem) == (True, True, "")


def test_the_file_becomes_shorter(world: World) -> None:
    for number in range(12):
        turn(world, "chat", number, value=f"{number}" * 50_000)
    world.restart()
    later(world)
    before = (world.folder / "journal.db").stat().st_size

    world.journal.prune(FEW)
    world.restart()

    assert (world.folder / "journal.db").stat().st_size < before / 2
    is_readable(world)


def test_a_journal_of_an_earlier_edition_keeps_its_size_and_uses_it_again(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    world = World(folder)
    world.close()
    connection = sqlite3.connect(folder / "journal.db", isolation_level=None)
    connection.execute("pragma journal_mode = delete")
    connection.execute("pragma auto_vacuum = none")
    connection.execute("vacuum")
    connection.close()
    world = World(folder)
    for number in range(4):
        turn(world, "chat", number, value=f"{number}" * 50_000)
    later(world)

    assert world.journal.prune(FEW).runs == 3
    is_readable(world)
    world.close()
