"""A journal that was put back, copied over or moved is noticed, and nothing of a crash is taken for it (`restored`)."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from journal import restore
from journal.errors import AckMissing, ShownChanged, StaleVersion, StoreLost
from journal.ids import Ids
from journal.records import Choice, HoldReason, InputState, Outcome, Run, RunState
from journal.service import Journal
from journal.store import heads, sqlite, witness, writer
from journal.store.heads import Head, decode
from tests.store.worlds import World, model, tool

ROOT = Path(__file__).resolve().parents[2]
C = Choice


class Guarded(World):
    """A journal with a second and a third head file outside its folder."""

    def __init__(self, folder: Path) -> None:
        (folder.parent / "tmp").mkdir(parents=True, exist_ok=True)
        self.elsewhere = (folder.parent / "second.head", folder.parent / "tmp" / "third.head")
        super().__init__(folder)

    def _open(self) -> Journal:
        boot = {"pid": 1}
        return Journal.open(self.folder, masker=self.masker, clock=self.clock, ids=Ids(self.clock), boot=boot, other_heads=self.elsewhere)

    @property
    def all_heads(self) -> tuple[Path, ...]:
        return (self.folder / heads.NAME, *self.elsewhere)

    def open(self) -> None:
        self.clock.turn(60)
        self.journal = self._open()

    def kept(self, *files: Path) -> dict[Path, bytes]:
        """What these files hold now, to be written back later as a restore does: over what is there, in place."""
        return {path: path.read_bytes() for path in files if path.exists()}

    @property
    def reason(self) -> str | None:
        return self.journal.restored.reason if self.journal.restored else None


def write_back(content: dict[Path, bytes]) -> None:
    for path, data in content.items():
        path.write_bytes(data)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Guarded]:
    world = Guarded(tmp_path / "journal")
    yield world
    world.close()


@pytest.fixture
def run(world: Guarded) -> Run:
    run = world.admit()
    world.done(run, model(1), {"response": "I push"})
    return run


def put_back(world: Guarded, more: Callable[[], object] | None = None) -> None:
    """Keep the closed journal, go on with it, and lay the older file over the newer one."""
    world.close()
    old = world.kept(world.folder / "journal.db")
    world.open()
    if more is not None:
        more()
    else:
        world.admit("later")
    world.close()
    write_back(old)
    world.open()


# -- what is noticed ------------------------------------------------------------------------------


def test_a_journal_put_back_to_an_earlier_state_holds_every_unfinished_run(world: Guarded, run: Run) -> None:
    queued = world.run_in(RunState.QUEUED, "queued")
    held = world.run_in(RunState.HELD, "held")
    done = world.run_in(RunState.COMPLETED, "done")

    put_back(world)

    assert world.reason == "rolled_back"
    found = {each.run_id: each for each in world.journal.unfinished()}
    assert set(found) == {run.run_id, queued.run_id, held.run_id}
    assert {each.state for each in found.values()} == {RunState.HELD}
    assert {each.hold.reason for each in found.values() if each.hold} == {HoldReason.RESTORED}
    assert found[held.run_id].hold.facts["before"]["reason"] == "ask"  # type: ignore[union-attr]
    assert world.journal.run(done.run_id).state is RunState.COMPLETED


@pytest.mark.parametrize("left", range(3))
def test_one_head_file_is_enough(world: Guarded, run: Run, left: int) -> None:
    world.close()
    old = world.kept(world.folder / "journal.db")
    world.open()
    world.done(run, tool(1))
    world.close()
    write_back(old)
    for number, path in enumerate(world.all_heads):
        if number != left:
            path.unlink()

    world.open()

    assert world.reason == "rolled_back"


@pytest.mark.parametrize("left", range(3))
def test_a_torn_head_counts_as_missing_and_the_others_tell(world: Guarded, run: Run, left: int) -> None:
    world.close()
    old = world.kept(world.folder / "journal.db")
    world.open()
    world.done(run, tool(1))
    world.close()
    write_back(old)
    for number, path in enumerate(world.all_heads):
        if number != left:
            path.write_bytes(path.read_bytes()[:100])

    world.open()

    assert world.reason == "rolled_back"


def test_a_lost_tail_of_the_log_is_an_earlier_state(world: Guarded, run: Run, tmp_path: Path) -> None:
    world.done(run, tool(1))
    world.pause()
    crashed = Guarded(tmp_path / "other" / "journal")
    crashed.close()
    shutil.rmtree(crashed.folder)
    shutil.copytree(world.folder, crashed.folder)
    log = crashed.folder / "journal.db-wal"
    log.write_bytes(log.read_bytes()[:-2000])
    for path in crashed.elsewhere:
        path.unlink()

    crashed.open()

    assert crashed.reason == "rolled_back"
    crashed.close()


def test_another_journal_in_this_place(world: Guarded, run: Run, tmp_path: Path) -> None:
    stranger = World(tmp_path / "stranger")
    foreign = stranger.admit("foreign")
    stranger.close()
    world.close()
    shutil.copy(stranger.folder / "journal.db", world.folder / "journal.db")

    world.open()

    assert world.reason == "replaced"
    assert [each.hold.reason for each in world.journal.unfinished() if each.hold] == [HoldReason.RESTORED]
    assert world.journal.run(foreign.run_id).state is RunState.HELD


def test_the_branch_of_a_copy_that_went_further_is_not_ours(world: Guarded, run: Run, tmp_path: Path) -> None:
    """Two copies of one journal go on, each in its way; the longer one is laid over the other."""
    world.close()
    shutil.copytree(world.folder, tmp_path / "copy" / "journal")
    world.open()
    world.done(run, tool(1))
    world.close()
    copy = Guarded(tmp_path / "copy" / "journal")
    for step in range(2, 12):
        copy.done(run, model(step))
    copy.close()
    shutil.copy(copy.folder / "journal.db", world.folder / "journal.db")

    world.open()

    assert world.reason == "rolled_back"


def test_a_journal_without_any_of_its_head_files_was_moved(world: Guarded, run: Run) -> None:
    world.restart()
    world.close()
    for path in world.all_heads:
        path.unlink()

    world.open()

    assert world.reason == "moved"
    world.restart()
    assert world.reason is None
    assert all(path.exists() for path in world.all_heads)


def test_it_accuses_once_and_a_head_that_could_not_be_rewritten_does_not_accuse_again(world: Guarded, run: Run) -> None:
    second = world.elsewhere[0]
    put_back(world)
    told = second.read_bytes()
    assert world.reason == "rolled_back"
    world.close()
    second.write_bytes(Head(*_parts(told)).encode())

    world.open()
    assert world.reason is None
    generation = world.journal.look(world.folder, masker=world.masker).status()["identity"]["generation"]
    assert generation == 2


def _parts(data: bytes) -> tuple[str, int, int, str]:
    head = decode(data)
    assert head is not None
    return head.journal_id, head.generation, head.number, head.opening


def test_a_generation_back_is_noticed_too(world: Guarded, run: Run) -> None:
    put_back(world)
    assert world.reason == "rolled_back"
    world.close()
    second = world.kept(world.folder / "journal.db")
    world.open()
    put_back(world, lambda: world.admit("even later"))
    assert world.journal.look(world.folder, masker=world.masker).status()["identity"]["generation"] == 3
    world.close()
    write_back(second)

    world.open()

    assert world.reason == "rolled_back"


def test_a_crash_before_the_holds_are_written_finds_it_again(world: Guarded, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heads say nothing new before the new generation is in the journal, in one transaction with the holds."""

    def die(*_: object) -> None:
        raise RuntimeError("the process ends here")

    world.close()
    old = world.kept(world.folder / "journal.db")
    world.open()
    world.done(run, tool(1))
    world.close()
    write_back(old)
    with monkeypatch.context() as now:
        now.setattr("journal.restoring._hold", die)
        with pytest.raises(RuntimeError):
            world.open()

    world.open()

    assert world.reason == "rolled_back"
    assert [each.hold.reason for each in world.journal.unfinished() if each.hold] == [HoldReason.RESTORED]


# -- what is innocent -----------------------------------------------------------------------------


WORK = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from journal.masking import Masker
from journal.service import Journal
folder = Path(sys.argv[1])
journal = Journal.open(folder, masker=Masker(list), boot={{}}, other_heads=(folder.parent / "second.head", folder.parent / "third.head"))
print("restored" if journal.restored else "sound", flush=True)
number = 0
while True:
    journal.note_chat_saved(None).result()
    number += 1
    if number == int(sys.argv[2]):
        print("ready", flush=True)
"""


def test_a_killed_process_is_no_restore(tmp_path: Path) -> None:
    """Six lives, each killed at a moment of its own while it writes."""
    for life in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WORK, str(tmp_path / "journal"), str(life * 7 + 1)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "sound\n"
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


def test_heads_that_lag_behind_are_what_a_power_cut_leaves(world: Guarded, run: Run) -> None:
    """What was written and not synced is gone: each head is one of the states that it had, the journal is whole."""
    states: list[dict[Path, bytes]] = []
    for step in range(2, 6):
        world.done(run, model(step))
        world.pause()
        states.append(world.kept(*world.all_heads))
    for state in states:
        world.close()
        write_back(state)
        world.open()
        assert world.reason is None


@pytest.mark.parametrize("torn", ["empty", "zeroes", "half", "other text"])
def test_torn_heads_prove_nothing(world: Guarded, run: Run, torn: str) -> None:
    world.close()
    for path in world.all_heads:
        whole = path.read_bytes()
        path.write_bytes(
            {"empty": b"", "zeroes": bytes(len(whole)), "half": whole[:60] + bytes(len(whole) - 60), "other text": b"x" * 256}[torn]
        )

    world.open()

    assert world.reason is None
    world.done(run, tool(1))
    world.restart()
    assert world.reason is None
    assert all(decode(path.read_bytes()) for path in world.all_heads)


def test_a_journal_that_never_wrote_heads_misses_none(world: Guarded) -> None:
    """Made by an earlier version, or ended before its first head was synced."""
    world.close()
    connection = sqlite3.connect(world.folder / "journal.db")
    connection.execute("update batches set heads = 0")
    connection.commit()
    connection.close()
    for path in world.all_heads:
        path.unlink()

    world.open()

    assert world.reason is None


def test_a_folder_that_died_with_its_container_is_a_new_beginning(world: Guarded, run: Run) -> None:
    world.close()
    shutil.rmtree(world.folder)
    for path in world.elsewhere:
        path.unlink()

    world.open()

    assert (world.reason, world.journal.unfinished()) == (None, [])
    assert world.journal.notes == []


def test_a_new_journal_where_one_was_before_says_so(world: Guarded, run: Run) -> None:
    world.close()
    shutil.rmtree(world.folder)

    world.open()
    assert world.reason is None
    assert "The journal that was here before is gone" in " ".join(world.journal.notes)
    world.restart()
    assert (world.reason, world.journal.notes) == (None, [])


def test_a_new_journal_is_never_accused_by_the_heads_of_the_old_one(world: Guarded, run: Run) -> None:
    """Killed before it wrote a head of its own, it must find none of the other."""
    world.close()
    shutil.rmtree(world.folder)
    sqlite.SqliteStore(world.folder, 1, other_heads=world.elsewhere).close()

    assert [path for path in world.all_heads if path.exists()] == []
    world.open()
    assert world.reason is None


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_clock_that_jumps_is_no_restore(world: Guarded, run: Run, minutes: int) -> None:
    world.clock.turn(minutes * 60)
    world.done(run, tool(1))
    world.restart()
    world.clock.turn(minutes * 60)
    world.restart()

    assert world.reason is None
    assert world.recover(run).state is RunState.QUEUED


def test_the_folder_moved_with_its_head_goes_on(world: Guarded, run: Run, tmp_path: Path) -> None:
    world.close()
    moved = tmp_path / "moved" / "journal"
    moved.parent.mkdir()
    world.folder.rename(moved)

    other = Guarded(moved)

    assert other.reason is None
    other.close()
    shutil.copytree(moved, world.folder)
    world.open()


def test_a_head_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    world = Guarded(tmp_path / "journal")
    world.close()
    for path in world.elsewhere:
        path.unlink()
        path.mkdir()  # nothing can be written there, whoever asks
    world.open()

    run = world.admit()
    world.done(run, tool(1))
    world.restart()

    assert world.reason is None
    assert [call.outcome for call in world.journal.calls(run.run_id)] == [Outcome.OK]
    world.close()


# -- what can be decided then ---------------------------------------------------------------------


def test_a_decision_of_the_time_before_does_not_fit_any_more(world: Guarded, run: Run) -> None:
    call = world.opened(run, tool(1))
    world.restart()
    held = world.recover(run)
    form = world.decision(held, C.NEW_ATTEMPT, call)

    put_back(world, lambda: world.done(world.claim(world.decide(held, C.NEW_ATTEMPT, call)), tool(1)))

    with pytest.raises(StaleVersion):
        world.journal.decide(form).result()
    now = world.journal.run(run.run_id)
    with pytest.raises(ShownChanged):
        world.journal.decide(world.decision(now, C.NEW_ATTEMPT, call, shown_digest=form.shown_digest)).result()


def test_a_permission_that_came_back_is_not_used_without_a_person(world: Guarded, run: Run) -> None:
    """It was allowed, and then it ran: the state before says allowed, and nothing of the effect."""
    call = world.opened(run, tool(1))
    world.restart()
    released = world.decide(world.recover(run), C.NEW_ATTEMPT, call)
    assert world.journal.calls(run.run_id)[-1].allowance == 1

    put_back(world, lambda: world.done(world.claim(released), tool(1)))

    assert world.journal.calls(run.run_id)[-1].allowance == 0
    assert world.journal.run(run.run_id).state is RunState.HELD
    claim = world.claim(world.decide(world.journal.run(run.run_id), C.CONFIRMED_COMPLETED, call))
    assert world.begin(claim, tool(1)).call.outcome is Outcome.CONFIRMED


def test_what_came_after_may_happen_twice_and_the_form_says_so(world: Guarded, run: Run) -> None:
    call = world.opened(run, tool(1))
    put_back(world)

    shown = [each for each in world.journal.run_view(run.run_id)["decisions"] if each["allowed"] and each["id"] != "stop"]

    assert {each["id"] for each in shown} == {"confirmed_completed", "confirmed_not_completed", "new_attempt"}
    assert all("may happen twice" in each["preview"] and each["needs_ack"] for each in shown)
    with pytest.raises(AckMissing):
        world.decide(world.journal.run(run.run_id), C.CONFIRMED_COMPLETED, call, ack=False)
    assert "put back" in world.journal.run_view(run.run_id)["run"]["reason"]["text"]


def test_a_saved_last_step_stays_saved_and_the_run_goes_on_after_it(world: Guarded, run: Run) -> None:
    saved = world.done(run, tool(1), arguments={"code": "git push §§secret(x)"})
    put_back(world)

    claim = world.claim(world.decide(world.journal.run(run.run_id), C.NEW_ATTEMPT, saved))

    assert world.begin(claim, tool(1), arguments={"code": "git push §§secret(x)"}).call.outcome is Outcome.OK


def test_a_model_call_without_answer_can_only_be_asked_again(world: Guarded, run: Run) -> None:
    call = world.opened(run, model(2))
    put_back(world)

    now = world.journal.run(run.run_id)
    allowed = {each["id"] for each in world.journal.run_view(run.run_id)["decisions"] if each["allowed"]}
    assert allowed == {"new_attempt", "stop"}
    claim = world.claim(world.decide(now, C.NEW_ATTEMPT, call))
    assert world.begin(claim, model(2)).call.attempts == 2


def test_a_run_without_any_step_can_go_on_too(world: Guarded) -> None:
    run = world.admit()
    put_back(world)

    assert world.claim(world.decide(world.journal.run(run.run_id), C.NEW_ATTEMPT)).run.state is RunState.RUNNING


def test_a_message_that_would_go_out_by_itself_is_offered(world: Guarded, run: Run) -> None:
    world.journal.keep_input(run.run_id, "late", {"text": "and then?"}).result()
    world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "bye").result()
    other = world.admit("other")
    world.journal.keep_input(other.run_id, "kept", {"text": "with the run"}).result()

    put_back(world)

    assert [(each.input_id, each.state) for each in world.journal.all_waiting()] == [("kept", InputState.WAITING)]
    assert [each.state for each in world.journal.inputs(run.run_id)] == [InputState.OFFERED]


def test_a_run_that_cannot_be_read_is_held_as_well(world: Guarded, run: Run) -> None:
    world.restart()
    world.close()
    connection = sqlite3.connect(world.folder / "journal.db")
    connection.execute("update runs set mode = x'5b'")
    connection.commit()
    connection.close()
    for path in world.all_heads:
        path.unlink()

    world.open()

    assert world.reason == "moved"
    assert world.journal.run(run.run_id).state is RunState.HELD
    assert [each["id"] for each in world.journal.run_view(run.run_id)["decisions"] if each["allowed"]] == ["stop"]


# -- under an open journal ------------------------------------------------------------------------


def test_a_file_put_back_under_the_open_journal_ends_it_and_the_next_opening_knows(world: Guarded, run: Run) -> None:
    """As the host's own restore does it: opened for writing, cut to nothing, filled with what it was; heads included."""
    world.close()
    old = world.kept(world.folder / "journal.db", *world.all_heads)
    world.open()
    world.pause()
    world.done(run, tool(1))
    world.pause()
    write_back(old)

    late = world.journal.note_chat_saved(run.run_id)

    assert isinstance(late.exception(), StoreLost)
    assert isinstance(world.journal.note_chat_saved(run.run_id).exception(), StoreLost)
    assert "put back" in str(world.journal.problem)
    world.journal.close()
    (world.folder / "journal.db-wal").unlink(missing_ok=True)
    (world.folder / "journal.db-shm").unlink(missing_ok=True)
    world.open()
    assert world.reason == "rolled_back"


def test_a_database_put_back_alone_is_noticed_by_its_number(world: Guarded, run: Run) -> None:
    """Another connection takes the journal back: no file is replaced, no head is touched."""
    other = sqlite3.connect(world.folder / "journal.db", isolation_level=None)
    other.execute("update batches set number = number - 1")
    other.close()

    late = world.journal.note_chat_saved(run.run_id)

    assert isinstance(late.exception(), StoreLost)
    assert isinstance(world.journal.note_chat_saved(run.run_id).exception(), StoreLost)
    world.restart()
    assert world.reason == "rolled_back"


def test_an_idle_journal_notices_it_too(world: Guarded, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    looking, check = threading.Lock(), witness.Witness.check

    def looked(self: witness.Witness, *, whole: bool = True) -> None:
        with looking:
            check(self, whole=whole)

    monkeypatch.setattr(writer, "_IDLE_SECONDS", 0.02)
    monkeypatch.setattr(witness.Witness, "check", looked)
    world.restart()
    world.pause()
    old = world.kept(*world.all_heads)
    world.done(run, tool(1))
    world.pause()

    with looking:  # what is put back after it was noticed stays so
        write_back(old)

    while any(decode(path.read_bytes()) == decode(data) for path, data in old.items()):
        os.sched_yield()  # until it says again, at every place, how far it had come
    assert "put back" in str(world.journal.problem)


def test_the_hosts_whole_backup_put_back_over_a_killed_server_is_told_by_the_copy_it_does_not_hold(world: Guarded, run: Run) -> None:
    world.close()
    backup = world.kept(world.folder / "journal.db", world.folder / heads.NAME, world.elsewhere[0])
    world.open()
    world.done(run, tool(1))
    world.close()
    write_back(backup)

    world.open()

    assert world.reason == "rolled_back"


def test_a_snapshot_of_everything_cannot_be_told(world: Guarded, run: Run) -> None:
    """Documented: all copies went back in time together."""
    world.close()
    snapshot = world.kept(world.folder / "journal.db", *world.all_heads)
    world.open()
    world.done(run, tool(1))
    world.close()
    write_back(snapshot)

    world.open()

    assert world.reason is None


def test_a_head_that_is_removed_is_written_again(world: Guarded, run: Run) -> None:
    for path in world.all_heads:
        path.unlink(missing_ok=True)
    world.close()

    assert all(decode(path.read_bytes()) for path in world.all_heads)
    world.open()
    assert world.reason is None


EXEC = f"""
import os, sys; sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from journal.masking import Masker
from journal.service import Journal
journal = Journal.open(Path(sys.argv[1]), masker=Masker(list), boot={{"pid": os.getpid()}})
print(os.getpid(), "restored" if journal.restored else "sound", flush=True)
journal.note_chat_saved(None).result()
if len(sys.argv) == 2:
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[0] or SELF, sys.argv[1], "again"])
"""


def test_a_process_that_replaces_itself_takes_its_journal_over(tmp_path: Path) -> None:
    """The host restarts itself with execv: the same process id, the lock let go, the head of the life before."""
    program = EXEC.replace("sys.argv[0] or SELF", "SELF")
    code = f"SELF = {program!r}\nSELF = 'SELF = ' + repr(SELF) + chr(10) + SELF\n{program}"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "journal")], capture_output=True, text=True, timeout=60)

    lives = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [word for _, word in lives] == ["sound", "sound"]
    assert lives[0][0] == lives[1][0]


def test_a_restore_begins_one_generation_and_its_holds_keep_their_version(world: Guarded, run: Run) -> None:
    copy = world.journal.backup().name
    world.done(run, tool(1))
    world.pause()
    world.close()
    before = Journal.look(world.folder, masker=world.masker).status()["identity"]["generation"]

    restore.restore(world.folder, copy, clock=world.clock, other_heads=world.elsewhere)
    at_once = Journal.look(world.folder, masker=world.masker).run(run.run_id)
    world.open()
    after = Journal.look(world.folder, masker=world.masker).status()["identity"]["generation"]

    assert (after, world.reason) == (before + 1, None)
    assert at_once.hold is not None
    assert at_once.hold.reason is HoldReason.RESTORED
    assert world.journal.run(run.run_id).version == at_once.version


def test_a_journal_that_is_put_back_by_hand_after_a_restore_is_noticed(world: Guarded, run: Run) -> None:
    copy = world.journal.backup().name
    world.close()
    restore.restore(world.folder, copy, clock=world.clock, other_heads=world.elsewhere)
    restored = world.kept(world.folder / "journal.db")
    world.open()
    world.admit("another")
    world.close()
    write_back(restored)

    world.open()

    assert world.reason == "rolled_back"
