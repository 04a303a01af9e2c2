"""`python -m journal` as a person runs it: real processes, a real terminal for decisions, the exit code that scripts read."""

from __future__ import annotations

import json
import os
import pty
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from journal import doctor
from journal.records import CallKey, CallKind, HoldReason, Outcome, RunState
from tests.store.worlds import World

ROOT = Path(__file__).resolve().parents[2]
TOOL = CallKey("A0", 1, CallKind.TOOL)
MODEL = CallKey("A0", 1, CallKind.MODEL)


def ask(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "journal", *arguments, f"--folder={folder}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def document(folder: Path, *arguments: str) -> dict:
    return json.loads(ask(folder, *arguments, "--json").stdout)


@pytest.fixture
def world(tmp_path: Path):
    world = World(tmp_path / "journal")
    yield world
    world.close()


def held_run(world: World):
    """A run whose second step was begun and has no result."""
    run = world.admit()
    asked = world.begin(run, MODEL)
    world.journal.finish_call(asked.call.call_id, Outcome.OK, {"response": "run it"}).result()
    world.begin(run, TOOL, name="deploy", arguments={"command": "make deploy"})
    world.restart()
    return world.recover(run)


def test_reading_works_beside_the_owner_and_says_so(world: World) -> None:
    run = held_run(world)

    status = ask(world.folder, "status")
    listed = ask(world.folder, "runs")
    one = ask(world.folder, "run", run.run_id[-8:])

    assert status.returncode == 1, status.stderr
    assert "nothing was locked" in status.stderr
    assert "running server" in status.stderr
    assert run.run_id in listed.stdout
    assert "outcome_unknown" in listed.stdout
    assert "make deploy" in one.stdout
    assert "Nothing was repeated" in one.stdout
    assert document(world.folder, "status")["counts"]["needs_you"] == 1
    assert document(world.folder, "run", run.run_id)["calls"][1]["name"] == "deploy"


def test_nothing_to_do_is_exit_code_zero(world: World) -> None:
    world.run_in(RunState.COMPLETED)
    world.close()

    status, runs = ask(world.folder, "status"), ask(world.folder, "runs")

    assert (status.returncode, runs.returncode) == (0, 0)
    assert "Nothing waits for you." in runs.stdout
    assert "nobody" in status.stdout


def test_reading_leaves_the_folder_as_it_was(world: World) -> None:
    held_run(world)
    world.close()
    before = {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in world.folder.iterdir()}

    for command in (["status"], ["runs", "--all"], ["verify"], ["doctor"]):
        assert ask(world.folder, *command).returncode in (0, 1)

    assert {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in world.folder.iterdir()} == before


def test_what_a_run_says_cannot_steer_the_terminal(world: World) -> None:
    run = world.admit(content={"text": "x"})
    world.begin(run, TOOL, name="deploy", arguments={"command": "\x1b[2J\x1b]0;owned\x07 \u202e rm"})
    world.restart()
    world.recover(run)

    said = ask(world.folder, "run", run.run_id)

    assert "rm" in said.stdout
    assert not set("\x1b\x07\u202e") & set(said.stdout)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "nothing"], 3, "There is no such run"),
        (["runs", "--most", "0"], 3, "--most"),
        (["decide", "x", "maybe"], 2, "invalid choice"),
        (["sing"], 2, "invalid choice"),
    ],
)
def test_a_mistake_is_named_and_changes_nothing(world: World, arguments, code, words) -> None:
    answer = ask(world.folder, *arguments)

    assert answer.returncode == code
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_journal_that_is_absent_foreign_or_damaged_has_its_own_exit_code(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "journal.db").write_text("a shopping list")

    assert ask(tmp_path / "none", "status").returncode == 4
    assert ask(foreign, "status").returncode == 5
    assert not (tmp_path / "none").exists()
    assert (foreign / "journal.db").read_text() == "a shopping list"


def test_verify_names_a_record_that_is_not_what_was_written(world: World) -> None:
    held_run(world)
    world.close()
    assert ask(world.folder, "verify").returncode == 0
    damage(world.folder / "journal.db", b"make deploy", b"make destro")

    answer = ask(world.folder, "verify")

    assert answer.returncode == 1
    assert "is not what was written" in answer.stdout
    assert ask(world.folder, "doctor").returncode == 1


def damage(path: Path, before: bytes, after: bytes) -> None:
    data = path.read_bytes()
    assert before in data
    path.write_bytes(data.replace(before, after))


# -- decisions ----------------------------------------------------------------------------------


def at_terminal(folder: Path, *arguments: str, typed: str, piped: bool = False) -> tuple[int, str]:
    """Run a command at a terminal of its own and type something; `piped`: the terminal only shows, and a program types."""
    main, child = pty.openpty()
    command = [sys.executable, "-m", "journal", *arguments, f"--folder={folder}"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE if piped else child, stdout=child, stderr=child, close_fds=True)
    os.close(child)
    heard: list[bytes] = []

    def listen() -> None:
        while True:
            try:
                data = os.read(main, 4096)
            except OSError:
                return
            if not data:
                return
            heard.append(data)

    listener = threading.Thread(target=listen)
    listener.start()
    if process.stdin is not None:
        process.communicate(typed.encode(), 60)
    else:
        os.write(main, typed.encode())
    code = process.wait(60)
    listener.join(60)
    os.close(main)
    return code, b"".join(heard).decode()


def test_a_decision_at_a_terminal_counts_at_the_next_start(world: World) -> None:
    run = held_run(world)
    world.close()

    code, heard = at_terminal(world.folder, "decide", run.run_id, "confirmed_completed", "--note", "Seen it.", typed="yes\n")
    world.journal = world._open()
    after = world.journal.run(run.run_id)

    assert code == 0, heard
    assert "goes on at the next start" in heard
    assert after.state is RunState.QUEUED
    assert world.journal.calls(run.run_id)[1].outcome is Outcome.CONFIRMED
    assert world.journal.run_view(run.run_id)["recorded"][0]["origin"].startswith("command line")


def test_another_word_than_yes_records_nothing(world: World) -> None:
    run = held_run(world)
    world.close()

    code, heard = at_terminal(world.folder, "decide", run.run_id, "new_attempt", typed="y\n")
    world.journal = world._open()

    assert code == 3
    assert "Nothing was recorded" in heard
    assert world.journal.run(run.run_id).state is RunState.HELD


def test_without_a_terminal_or_beside_a_server_nobody_decides(world: World) -> None:
    run = held_run(world)

    piped = ask(world.folder, "decide", run.run_id, "stop")
    code, heard = at_terminal(world.folder, "decide", run.run_id, "stop", typed="yes\n")

    assert piped.returncode == 3
    assert "terminal" in piped.stderr
    assert code == 4
    assert "Recovery panel" in heard
    assert world.journal.run(run.run_id).state is RunState.HELD


def test_a_program_that_types_into_a_terminal_is_no_person(world: World) -> None:
    run = held_run(world)
    world.close()

    code, heard = at_terminal(world.folder, "decide", run.run_id, "stop", typed="yes\n", piped=True)
    world.journal = world._open()

    assert code == 3
    assert "terminal" in heard
    assert world.journal.run(run.run_id).state is RunState.HELD


def test_a_confirmation_needs_a_note_and_a_refusal_says_why(world: World) -> None:
    run = held_run(world)
    world.close()

    without, heard = at_terminal(world.folder, "decide", run.run_id, "confirmed_completed", typed="yes\n")
    resume, why = at_terminal(world.folder, "decide", run.run_id, "resume", typed="yes\n")
    world.journal = world._open()

    assert (without, resume) == (3, 3)
    assert "Write how you know" in heard
    assert "still unknown" in why
    assert world.journal.run(run.run_id).state is RunState.HELD


def test_a_cut_off_model_call_is_granted_more_attempts(world: World) -> None:
    run = world.admit()
    world.begin(run, MODEL)
    world.restart()
    assert world.recover(run).hold.reason is HoldReason.MODEL_INTERRUPTED
    world.close()

    code, heard = at_terminal(world.folder, "grant", run.run_id, "2", typed="yes\n")
    world.journal = world._open()

    assert code == 0, heard
    assert world.journal.calls(run.run_id)[0].allowance == 2


def test_what_is_typed_at_a_terminal_is_hidden_as_the_server_hides_it(tmp_path: Path, monkeypatch) -> None:
    world = World(tmp_path / "usr" / "plugin_data" / "durable_execution")
    run = held_run(world)
    world.close()
    own, project, loaded, given = "store-secret-1", "project secret 2", "loaded/secret-3", "given-secret-4"
    meta = tmp_path / "usr" / "projects" / "one" / ".a0proj"
    meta.mkdir(parents=True)
    (tmp_path / "usr" / "secrets.env").write_text(f"plain_name={own} # a remark\n")
    (meta / "secrets.env").write_text(f'OTHER="{project}"\n')
    (tmp_path / "usr" / ".env").write_text(f"API_KEY_X={loaded}\nTHEME=plain-and-long\n")
    (tmp_path / "more.env").write_text(f"ANY={given}\n")
    monkeypatch.setenv("X_TOKEN", "/9j/4AAQSkZJRg==")
    note = f"--note={own} {project} {loaded} plain-and-long /9j/4AAQSkZJRg=="

    code, heard = at_terminal(
        world.folder,
        "decide",
        run.run_id,
        "confirmed_completed",
        note,
        f"--result={given}",
        f"--secrets={tmp_path}/more.env",
        typed="yes\n",
    )
    written = b"".join(path.read_bytes() for path in world.folder.iterdir() if path.is_file())

    assert code == 0, heard
    assert b"plain-and-long" in written
    assert [secret for secret in (own, project, loaded, given, "/9j/4AAQSkZJRg==") if secret.encode() in written] == []


def test_a_file_of_secrets_that_cannot_be_read_stops_the_command(world: World) -> None:
    run = held_run(world)
    world.close()

    code, heard = at_terminal(world.folder, "decide", run.run_id, "stop", f"--secrets={world.folder}/none", typed="yes\n")
    world.journal = world._open()

    assert code == 3
    assert "cannot be read" in heard
    assert world.journal.run(run.run_id).state is RunState.HELD


def test_runs_that_hold_a_secret_which_became_known_later_are_named(world: World, monkeypatch) -> None:
    run = held_run(world)
    clean = ask(world.folder, "secrets")
    monkeypatch.setenv("DEPLOY_TOKEN", "make deploy")

    found = ask(world.folder, "secrets")

    assert (clean.returncode, found.returncode) == (0, 1)
    assert run.run_id in found.stdout
    assert "DEPLOY_TOKEN" in found.stdout
    assert "make deploy" not in found.stdout + found.stderr
    assert document(world.folder, "secrets") == {"items": [{"run_id": run.run_id, "secrets": ["DEPLOY_TOKEN"]}]}


CTRL_D = "\x04"


def test_ctrl_d_at_the_question_is_no(world: World) -> None:
    run = held_run(world)
    copy = document(world.folder, "backup")["name"]
    world.close()

    code, heard = at_terminal(world.folder, "decide", run.run_id, "stop", typed=CTRL_D)
    back, said = at_terminal(world.folder, "restore", copy, typed=CTRL_D)
    world.journal = world._open()

    assert (code, back) == (3, 3)
    assert "Nothing was recorded" in heard
    assert "Nothing was changed" in said
    assert "Traceback" not in heard + said
    assert world.journal.run(run.run_id).hold.reason is HoldReason.OUTCOME_UNKNOWN


def test_of_several_cut_off_model_calls_one_is_named(world: World) -> None:
    run = world.admit()
    for ordinal in (0, 1):
        world.begin(run, CallKey("A0", 1, CallKind.MODEL, ordinal))
    world.restart()
    world.recover(run)
    world.close()

    unsaid, heard = at_terminal(world.folder, "grant", run.run_id, "1", typed="yes\n")
    wrong, _ = at_terminal(world.folder, "grant", run.run_id, "1", "--step=7", typed="yes\n")
    code, said = at_terminal(world.folder, "grant", run.run_id, "1", "--step=2", typed="yes\n")
    world.journal = world._open()

    assert (unsaid, wrong, code) == (3, 3, 0), said
    assert "--step N" in heard
    assert "for step 2" in said
    assert [call.allowance for call in world.journal.calls(run.run_id)] == [0, 1]


# -- copies and old runs ------------------------------------------------------------------------


def test_a_backup_is_made_beside_the_owner_and_put_back_without_it(world: World) -> None:
    run = held_run(world)

    made = document(world.folder, "backup")
    beside = ask(world.folder, "restore", made["name"], "--yes")
    world.close()
    unasked = ask(world.folder, "restore", made["name"])
    restored = document(world.folder, "restore", made["name"], "--yes")
    world.journal = world._open()

    assert beside.returncode == 4
    assert unasked.returncode == 3
    assert "Nothing was changed" in unasked.stderr
    assert restored["held"] == 1
    assert Path(restored["aside"]).is_dir()
    assert world.journal.run(run.run_id).hold.reason is HoldReason.RESTORED
    assert [each["name"] for each in document(world.folder, "backups")["backups"]] == [made["name"]]
    assert ask(world.folder, "restore", "another", "--yes").returncode in (3, 4)


def test_old_runs_go_only_when_asked_and_not_in_a_dry_run(world: World) -> None:
    world.clock.ms = 1_700_000_000_000  # long ago for the command, which has a real clock
    for number in range(4):
        run = world.admit("chat", f"m{number}")
        world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, "done", world.point(), []).result()
        world.clock.turn(86_400)
    world.close()

    dry = document(world.folder, "prune", "--runs=1", "--days=0", "--dry-run")
    real = document(world.folder, "prune", "--runs=1", "--days=0")
    again = document(world.folder, "prune", "--runs=1", "--days=0")

    assert dry["runs"] == real["runs"] == 3
    assert again["runs"] == 0
    assert ask(world.folder, "prune", "--runs=0").returncode == 3
    assert len(document(world.folder, "runs", "--all")["items"]) == 1


# -- preflight ----------------------------------------------------------------------------------


def test_preflight_compares_the_host_with_the_accepted_files(tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.mkdir()

    answer = ask(tmp_path / "journal", "preflight", f"--host={host}")

    assert answer.returncode == 1
    assert "host files" in answer.stdout
    assert "differ from" in answer.stdout
    assert not (tmp_path / "journal").exists()


@pytest.mark.parametrize("moment", range(1, 7))
def test_files_that_go_while_they_are_looked_at_are_no_trouble(tmp_path: Path, monkeypatch, moment: int) -> None:
    going = tmp_path / "backups" / "making-1"
    going.mkdir(parents=True)
    for name in ("a", "b"):
        (going / name).touch()
    mode_of, looks = stat.S_IMODE, iter(range(1, 100))

    def look_while_a_server_works(mode: int) -> int:
        if next(looks) == moment:
            shutil.rmtree(going)
        return mode_of(mode)

    monkeypatch.setattr(doctor, "stat", SimpleNamespace(S_IMODE=look_while_a_server_works))
    findings = {each.what: each for each in doctor.place(tmp_path)}

    assert "private files" in findings


def test_the_doctor_names_what_restores_left_and_what_it_takes(tmp_path: Path) -> None:
    assert "replaced journals" not in {each.what for each in doctor.place(tmp_path)}
    for number, name in enumerate(("journal.before-restore-1", "journal.before-restore-2")):
        (tmp_path / name / "blobs").mkdir(parents=True)
        (tmp_path / name / "blobs/large").write_bytes(b"x" * 1024 * (number + 1))
    found = next(each for each in doctor.place(tmp_path) if each.what == "replaced journals")

    assert found.ok
    assert found.text.startswith(f"3.0 KiB in {tmp_path}: journal.before-restore-1, journal.before-restore-2. Remove them")


def test_preflight_without_a_host_judges_the_place_alone(tmp_path: Path) -> None:
    findings = {each["what"]: each for each in document(tmp_path / "journal", "preflight")["findings"]}

    assert findings["Python"]["ok"]
    assert findings["SQLite"]["ok"]
    assert findings["file system"]["ok"]
