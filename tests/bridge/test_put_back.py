"""A journal that was put back: nothing runs a second time by itself, and a person is told what is not known (`restored`)."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path

import pytest

from journal.store import heads
from journal.store.filesystems import place_of
from refhost.world import World
from tests.support.scenes import ended, hold_in_effect, script_effect, status
from tests.support.story import Panel


def kept(*places: Path) -> dict[Path, bytes]:
    """What a backup reads: the files one after the other."""
    files = [file for place in places for file in (sorted(place.rglob("*")) if place.is_dir() else [place])]
    return {file: file.read_bytes() for file in files if file.is_file()}


def write_back(backup: dict[Path, bytes]) -> None:
    """As Agent Zero's own restore does it: over what is there, in place, whether a server runs or not."""
    for path, content in backup.items():
        path.write_bytes(content)


def begin_held(world, model, gate):
    """A run that is held for its cut-off effect, and a journal whose heads name all of it: a backup of now takes them, too."""
    script_effect(model, gate)
    (world.folder / "tmp").mkdir(exist_ok=True)
    world.start()
    chat = hold_in_effect(world)
    wait_heads(world)
    return chat


def go_on_and_finish(world, chat):
    panel = Panel(world.client())
    assert panel.decide(panel.wait_held(chat), "confirmed_completed", "seen", result_text="done a").status == 200
    assert ended(world, chat) == "completed"
    wait_heads(world)
    assert world.effects() == ["start a"]


def wait_heads(world):
    world.client().wait(lambda: heads_are_written(world), what="a pause, in which the heads are written")


def heads_are_written(world):
    """The copy outside of the backup names all that the journal has. An older one may have been written a moment ago."""
    copy = world.folder / "tmp" / "durable_execution.head"
    head = heads.decode(copy.read_bytes()) if copy.exists() else None
    with contextlib.closing(sqlite3.connect(f"file:{world.data_folder / 'journal.db'}?mode=ro", uri=True)) as journal:
        ((number,),) = journal.execute("select number from batches")
    return head is not None and head.number == number


def test_an_older_journal_holds_what_was_unfinished_in_it_and_says_why(world, model, gate):
    chat = begin_held(world, model, gate)
    world.stop()
    backup = kept(world.data_folder / "journal.db", world.data_folder / "journal.db-wal")
    world.start()
    go_on_and_finish(world, chat)
    world.stop()
    for part in world.data_folder.glob("journal.db*"):
        part.unlink()
    write_back(backup)

    world.start()

    client, panel = world.client(), Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "restored"
    assert "put back to an earlier state" in detail["run"]["reason"]["text"]
    assert "put back to an earlier state" in status(world)["restored"]
    (banner,) = [each for each in client.call("banners")["banners"] if each["id"] == "durable_execution-holds"]
    assert "put back to an earlier state" in banner["html"]
    client.wait_log(chat, "warning", "put back to an earlier state")
    assert "put back to an earlier state" in world.output()

    # the chat knows more than the journal that came back: that is the next thing to decide, and nothing is overwritten
    history = client.history(chat)
    assert panel.decide(detail, "new_attempt").status == 200
    client.wait(lambda: panel.wait_held(chat)["run"]["reason"]["code"] == "chat_moved_on", what="the chat to be looked at")
    assert client.history(chat) == history
    assert world.effects() == ["start a"]


def test_the_hosts_whole_restore_over_a_running_server_ends_the_store_and_is_seen_at_the_next_start(world, model, gate):
    chat = begin_held(world, model, gate)
    backup = kept(world.data_folder, world.usr / "durable_execution.head")
    go_on_and_finish(world, chat)

    write_back(backup)

    client = world.client()
    client.wait(lambda: "put back" in (status(world)["store_problem"] or ""), what="the store to end")
    other = client.create_chat()
    client.send(other, "please")
    assert "nothing was started" in client.wait_log(other, "warning", "Message not recorded")["content"]
    assert world.effects() == ["start a"]

    world.restart()

    detail = Panel(world.client()).wait_held(chat)
    assert detail["run"]["reason"]["code"] == "restored"
    assert world.effects() == ["start a"]


def test_the_same_restore_while_the_server_is_down_is_told_by_the_copy_outside_the_backup(world, model, gate):
    chat = begin_held(world, model, gate)
    backup = kept(world.data_folder, world.usr / "durable_execution.head")
    go_on_and_finish(world, chat)
    world.stop()
    write_back(backup)

    world.start()

    assert Panel(world.client()).wait_held(chat)["run"]["reason"]["code"] == "restored"
    assert world.effects() == ["start a"]


def test_a_quiet_server_that_is_killed_is_not_taken_for_restored(world, model, gate):
    chat = begin_held(world, model, gate)
    world.restart()

    assert status(world)["restored"] is None
    assert Panel(world.client()).wait_held(chat)["run"]["reason"]["code"] == "outcome_unknown"


def test_a_place_that_dies_with_the_machine_is_said_once_and_can_be_put_away(model):
    memory = Path("/dev/shm")
    if place_of(memory).kind != "tmpfs":
        pytest.skip("this needs /dev/shm on a tmpfs")
    with tempfile.TemporaryDirectory(dir=memory) as folder, World(Path(folder) / "world", model=model) as world:
        world.start()

        (note,) = status(world)["notes"]
        (banner,) = [each for each in world.client().call("banners")["banners"] if each["id"].startswith("durable_execution")]

    assert "on tmpfs" in note
    assert (banner["id"], banner["dismissible"], note in banner["html"]) == ("durable_execution-place", True, True)
