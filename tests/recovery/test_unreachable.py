"""A journal in any state never stops the host: other chats work, and the first page says what and what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from refhost.model import answer
from refhost.world import World
from tests.support.scenes import begin_effect, script_effect, status, wait_status
from tests.support.story import Panel

UNPRIVILEGED = Path(__file__).resolve().parents[1] / "support" / "unprivileged.py"


def page_of(file: Path, table: str) -> tuple[int, int]:
    connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    size = connection.execute("pragma page_size").fetchone()[0]
    page = connection.execute("select rootpage from sqlite_schema where name = ?", (table,)).fetchone()[0]
    connection.close()
    return (page - 1) * size, size


def a_page_of_runs_after_an_unclean_end(folder: Path) -> None:
    """The page is broken in the file and in its unmerged part, as a lying disk leaves it."""
    file = folder / "journal.db"
    at, size = page_of(file, "runs")
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(b"\xff" * size)
    wal = folder / "journal.db-wal"
    assert wal.stat().st_size
    wal.write_bytes(wal.read_bytes()[:32])  # nothing in it covers the broken page any more


def newer(folder: Path) -> None:
    connection = sqlite3.connect(folder / "journal.db")
    connection.execute("pragma user_version = 9999")
    connection.close()


def instead_of_the_journal(make):
    def damage(folder: Path) -> None:
        for file in folder.glob("journal.db*"):
            file.unlink()
        make(folder / "journal.db")

    return damage


def instead_of_the_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file")


def instead_of_the_folder_above(folder: Path) -> None:
    shutil.rmtree(folder.parent)
    folder.parent.write_text("a file")


def a_folder_as_lock(folder: Path) -> None:
    (folder / "journal.lock").unlink()
    (folder / "journal.lock").mkdir()


def only_the_unmerged_part(folder: Path) -> None:
    (folder / "journal.db").unlink()
    (folder / "journal.db-wal").write_bytes(b"left over")


def no_permission_for_the_file(folder: Path) -> None:
    for file in folder.glob("journal.*"):
        file.chmod(0)


def no_permission_for_the_folder_above(folder: Path) -> None:
    folder.parent.chmod(0)


def of_something_else(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table t (x)")
    connection.close()


KINDS = {
    "a broken page of runs": (a_page_of_runs_after_an_unclean_end, "journal_damaged"),
    "a newer schema": (newer, "journal_newer"),
    "an empty file": (instead_of_the_journal(Path.touch), "journal_foreign"),
    "a folder as journal": (instead_of_the_journal(Path.mkdir), "journal_foreign"),
    "a pipe as journal": (instead_of_the_journal(os.mkfifo), "journal_foreign"),
    "a link to nowhere": (instead_of_the_journal(lambda path: path.symlink_to("nowhere")), "journal_foreign"),
    "another database": (instead_of_the_journal(of_something_else), "journal_foreign"),
    "only the unmerged part": (only_the_unmerged_part, "store_lost"),
    "a file as folder": (instead_of_the_folder, "store_lost"),
    "a file as folder above": (instead_of_the_folder_above, "store_lost"),
    "a folder as lock": (a_folder_as_lock, "store_lost"),
    "no permission for the file": (no_permission_for_the_file, None),
    "no permission for the folder above": (no_permission_for_the_folder_above, None),
}


def banners(world: World) -> list[dict]:
    return [b for b in world.client().call("banners")["banners"] if b["id"].startswith("durable_execution")]


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A world that was killed with an open effect, to be copied for each kind of damage."""
    from refhost.model import Model

    folder = tmp_path_factory.mktemp("killed")
    with Model.start(folder / "model") as model, World(folder / "world", model=model) as world:
        script_effect(model, folder / "gate")
        world.start()
        begin_effect(world)
        world.kill()
        yield world


@pytest.mark.parametrize("kind", KINDS)
def test_the_host_starts_other_chats_work_and_the_page_says_what_and_the_next_step(model, tmp_path, killed, kind):
    assert_the_host_works(model, tmp_path, killed, kind)


def assert_the_host_works(model, tmp_path, killed, kind):
    damage, code = KINDS[kind]
    shutil.copytree(killed.folder / "usr", tmp_path / "world" / "usr")
    with World(tmp_path / "world", model=model) as world:
        model.script(answer("it works"), repeat=True)
        damage(world.data_folder)

        world.start(inject=UNPRIVILEGED)

        client = world.client()
        why = status(world)["why_not"]
        assert why is not None
        assert why["code"] in ({code} if code else {"store_lost", "journal_foreign"})
        assert client.say(client.create_chat(), "hello") == "it works"
        (banner,) = banners(world)
        assert banner["title"] == "Durable Execution is not active"
        assert any(step in banner["html"] for step in ("Look at", "Keep a copy", "Update this plugin", "looked at again"))
        assert "Traceback" not in world.output()
        world.data_folder.parent.chmod(0o700)  # whoever tidies up may not be root


def test_what_may_pass_is_taken_up_by_itself_when_it_has_passed(model, tmp_path, killed):
    shutil.copytree(killed.folder / "usr", tmp_path / "world" / "usr")
    with World(tmp_path / "world", model=model) as world:
        kept = tmp_path / "kept"
        world.data_folder.rename(kept)
        world.data_folder.write_text("a file")
        world.start(env={"JOB_LOOP_SECONDS": "0.3"})
        assert status(world)["active"] is False

        world.data_folder.unlink()
        kept.rename(world.data_folder)

        wait_status(world, active=True)
        assert Panel(world.client()).wait_held()["run"]["reason"]["code"] == "outcome_unknown"


def test_a_folder_that_is_missing_begins_a_new_journal(world, model):
    model.script(answer("it works"), repeat=True)
    world.start()
    world.kill()
    shutil.rmtree(world.data_folder)

    world.start()

    assert status(world)["active"] is True
    assert world.client().say(world.client().create_chat(), "hello") == "it works"
    assert [run["state"] for run in Panel(world.client()).all_runs()] == ["completed"]
