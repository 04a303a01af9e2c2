"""I9: a record that does not validate is never repaired or skipped; its chat stops, all others go on, Stop is left."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from journal.errors import ChatBusy, CheckpointCorrupt, Corrupt, RecordCorrupt
from journal.ids import Digest
from journal.records import Choice, Decision, Hold, HoldReason, Run, RunState
from journal.trees import Tree
from tests.store.worlds import MODE, NOTHING, OWNER, World, model, tool


@pytest.fixture
def run(world: World) -> Run:
    """A run after a crash, and beside it another chat that nothing is wrong with."""
    run = world.admit("broken")
    world.done(run, model(1), {"response": "x"})
    world.opened(run, tool(1), arguments={"code": "git push"})
    world.journal.keep_input(run.run_id, "waiting", {"text": "w"}).result()
    sound = world.admit("sound", "m2")
    world.opened(sound, tool(1), arguments={"code": "ls"})
    world.restart()
    return run


def tamper(world: World, *statements: str) -> None:
    """Change the file behind the journal's back, while it is closed."""
    world.journal.close()
    connection = sqlite3.connect(world.folder / "journal.db", isolation_level=None)
    for statement in statements:
        assert connection.execute(statement).rowcount >= 1
    connection.close()
    world.journal = world._open()


BROKEN = "(select run_id from runs where chat_id = 'broken')"
MESSAGE = "(select input_digest from runs where chat_id = 'broken')"
ARGUMENTS = f"(select arguments_digest from calls where kind = 'tool' and run_id = {BROKEN})"
RESULT = "(select value_digest from calls where value_digest is not null)"

RUN_DAMAGE = {
    "message": f"update blobs set body = x'7b7d' where digest = {MESSAGE}",
    "message that decodes to something else": f"update blobs set body = x'31' where digest = {MESSAGE}",
    "mode": "update runs set mode = x'5b' where chat_id = 'broken'",
    "mode of another shape": "update runs set mode = x'31' where chat_id = 'broken'",
}
CALL_DAMAGE = {
    "arguments": f"update blobs set body = x'31' where digest = {ARGUMENTS}",
    "result": f"update blobs set body = cast(body || x'20' as blob) where digest = {RESULT}",
    "usage": "update calls set usage = x'ff' where value_digest is not null",
}
CHECKPOINT_DAMAGE = {
    "root": f"update checkpoints set body = cast(body || x'20' as blob) where run_id = {BROKEN}",
    "no root": f"update checkpoints set body = null where run_id = {BROKEN}",
    "position": f"update checkpoints set position = x'7b7d' where run_id = {BROKEN}",
    "seal": f"update checkpoints set seal = 'x' where run_id = {BROKEN}",
    "other checkpoint": "update runs set checkpoint_seq = (select max(seq) from checkpoints"
    f" where run_id <> {BROKEN}) where run_id = {BROKEN}",
}


def stop_form(world: World, run: Run) -> Decision:
    view = world.journal.run_view(run.run_id)
    (offer,) = [each for each in view["decisions"] if each["allowed"]]
    return Decision(run.run_id, view["run"]["version"], None, offer["digest"], Choice(offer["id"]), request_id="r", origin=OWNER)


def is_unharmed(world: World) -> None:
    """The other chat is recovered, decided and continued as if nothing were wrong."""
    (sound,) = world.journal.runs_of("sound")
    held = world.recover(sound)
    call = world.journal.calls(sound.run_id)[0]
    assert world.claim(world.decide(held, Choice.CONFIRMED_COMPLETED, call)).run.state is RunState.RUNNING


@pytest.mark.parametrize("damage", RUN_DAMAGE)
def test_a_damaged_run_is_shown_and_stays_where_it_is(world: World, run: Run, damage: str) -> None:
    tamper(world, RUN_DAMAGE[damage])

    found = next(each for each in world.journal.unfinished() if each.run_id == run.run_id)
    assert found.damaged
    assert (found.state, found.version, found.chat_id) == (RunState.RUNNING, 1, "broken")
    for move in (
        lambda: world.journal.begin_recovery(run.run_id).result(),
        lambda: world.journal.settle(run.run_id, None).result(),
        lambda: world.journal.hold_run(run.run_id, HoldReason.ASK).result(),
    ):
        with pytest.raises(RecordCorrupt):
            move()
    assert world.journal.run(run.run_id) == found
    is_unharmed(world)


@pytest.mark.parametrize("damage", RUN_DAMAGE | CALL_DAMAGE)
def test_nothing_but_stop_is_offered_for_what_cannot_be_read(world: World, run: Run, damage: str) -> None:
    tamper(world, (RUN_DAMAGE | CALL_DAMAGE)[damage])
    held = world.journal.settle(run.run_id, Hold(HoldReason.CHECKPOINT_CORRUPT)).result()
    assert held.state is RunState.HELD

    view = world.journal.run_view(run.run_id)
    assert view["run"]["reason"]["code"] == "checkpoint_corrupt"
    assert [each["id"] for each in view["decisions"] if each["allowed"]] == ["stop"]
    assert any(item["run_id"] == run.run_id for item in world.journal.listing()["items"])

    assert world.journal.decide(stop_form(world, run)).result().state is RunState.STOPPED
    is_unharmed(world)


@pytest.mark.parametrize("damage", RUN_DAMAGE | CALL_DAMAGE | CHECKPOINT_DAMAGE)
def test_no_message_slips_past_a_run_that_cannot_be_read(world: World, run: Run, damage: str) -> None:
    tamper(world, (RUN_DAMAGE | CALL_DAMAGE | CHECKPOINT_DAMAGE)[damage])

    with pytest.raises(ChatBusy):
        world.journal.admit("broken", "new", {"text": "n"}, "T", MODE, world.point()).result()


@pytest.mark.parametrize("damage", CALL_DAMAGE)
def test_a_damaged_call_stops_the_scan_of_its_run_alone(world: World, run: Run, damage: str) -> None:
    tamper(world, CALL_DAMAGE[damage])

    with pytest.raises(RecordCorrupt):
        world.journal.calls(run.run_id)
    is_unharmed(world)


@pytest.mark.parametrize("damage", CHECKPOINT_DAMAGE)
def test_a_damaged_checkpoint_is_never_replaced_by_an_older_one(world: World, run: Run, damage: str) -> None:
    tamper(world, CHECKPOINT_DAMAGE[damage])

    with pytest.raises(CheckpointCorrupt):
        world.journal.resume_point(run.run_id)


def test_a_checkpoint_of_another_run_is_not_taken_for_one_of_this(world: World, run: Run) -> None:
    before = world.journal.resume_point(run.run_id)
    tamper(world, f"update checkpoints set run_id = {BROKEN}, seq = seq + 100 where run_id <> {BROKEN}")

    found = world.journal.resume_point(run.run_id)

    assert (found.seq, found.root, found.position) == (before.seq, before.root, before.position)


NEWEST = f"(select max(seq) from checkpoints where run_id = {BROKEN})"
NEWEST_DAMAGE = {
    "it is gone": f"delete from checkpoints where seq = {NEWEST}",
    "root is gone": f"update checkpoints set body = null where seq = {NEWEST}",
    "root": f"update checkpoints set body = cast(body || x'20' as blob) where seq = {NEWEST}",
    "position": f"update checkpoints set position = x'7b7d' where seq = {NEWEST}",
    "seal": f"update checkpoints set seal = 'x' where seq = {NEWEST}",
}


@pytest.mark.parametrize("damage", NEWEST_DAMAGE)
def test_a_sound_older_checkpoint_does_not_stand_in_for_a_damaged_newest_one(world: World, run: Run, damage: str) -> None:
    world.journal.checkpoint(run.run_id, run.token, world.point({"A0": 1}, ("hello", "and more")), []).result()
    assert world.journal.resume_point(run.run_id).position == {"A0": 1}
    tamper(world, NEWEST_DAMAGE[damage])

    with pytest.raises(CheckpointCorrupt):
        world.journal.resume_point(run.run_id)


def test_every_node_of_a_checkpoint_is_verified_when_it_is_read(world: World, run: Run) -> None:
    loaded = world.journal.resume_point(run.run_id)
    history = loaded.tree.value(loaded.root)["history"]
    places = [f"checkpoints set body = {{}} where root = '{loaded.root}'"]
    places += [f"blobs set body = {{}} where digest = '{digest}'" for digest in (history, *loaded.tree.list(history))]

    for place in places:
        tamper(world, f"update {place.format("cast(body || x'00' as blob)")}")

        def read_all() -> None:
            point = world.journal.resume_point(run.run_id)
            for each in point.tree.list(point.tree.value(point.root)["history"]):
                point.tree.value(each)

        with pytest.raises(CheckpointCorrupt):
            read_all()
        tamper(world, f"update {place.format('substr(body, 1, length(body) - 1)')}")
        read_all()


def test_a_missing_node_is_no_shorter_history(world: World, run: Run) -> None:
    point = world.journal.resume_point(run.run_id)
    (item,) = point.tree.list(point.tree.value(point.root)["history"])
    tamper(world, f"delete from blobs where digest = '{item}'")

    with pytest.raises(CheckpointCorrupt):
        world.journal.resume_point(run.run_id).tree.value(item)


def test_a_run_without_checkpoint_is_corrupt(world: World, run: Run) -> None:
    tamper(world, f"delete from checkpoints where run_id = '{run.run_id}'")

    with pytest.raises(CheckpointCorrupt):
        world.journal.resume_point(run.run_id)


def test_any_flipped_byte_is_an_error_of_the_corrupt_family_or_harmless(world: World, run: Run, tmp_path: Path) -> None:
    """Whatever a bad disk does, the engine never raises anything but its own words and never invents a state."""
    world.journal.close()
    original = (world.folder / "journal.db").read_bytes()
    outcomes: dict[str, int] = {}
    for number, offset in enumerate(range(4096, len(original), len(original) // 80)):
        case = tmp_path / f"case {number}"
        shutil.copytree(world.folder, case)
        changed = bytearray(original)
        changed[offset : offset + 64] = bytes(byte ^ 0xFF for byte in changed[offset : offset + 64])
        (case / "journal.db").write_bytes(changed)
        outcome = _use(case)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    world.journal = world._open()

    assert set(outcomes) <= {"sound", "corrupt"}
    assert outcomes["corrupt"] > 3


def _use(folder: Path) -> str:
    try:
        world = World(folder)
    except Corrupt:
        return "corrupt"
    found = "sound"
    try:
        for run in world.journal.unfinished():
            found = "corrupt" if run.damaged else found
            try:
                world.journal.calls(run.run_id)
                point = world.journal.resume_point(run.run_id)
                read_everything(point.tree, point.root)
                world.journal.run_view(run.run_id)
                world.journal.classify(run.run_id, lambda call: NOTHING)
            except Corrupt:
                found = "corrupt"
    except Corrupt:
        found = "corrupt"
    finally:
        world.close()
    return found


def read_everything(tree: Tree, root: Digest) -> None:
    for digest in tree.list(tree.value(root)["history"]):
        tree.value(digest)
