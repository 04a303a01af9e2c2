"""The schema: released steps are frozen, a step is whole or not at all, old journals open, every query is used."""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal import codec
from journal.errors import RecordCorrupt
from journal.records import Choice, Hold, HoldReason, RunState
from journal.store import migrate, queries
from journal.store.migrate import Migration
from journal.store.sqlite import SqliteStore
from tests.store.worlds import World, model, tool

HERE = Path(__file__).resolve().parent
SQL = queries.SQL / "sqlite"
JOURNAL = queries.SQL.parent
SNAPSHOT = SQL / "schema.snapshot.sql"
GOLDEN = sorted((HERE / "golden").glob("schema_*.sql"))


def schema_of(path: Path) -> str:
    connection = sqlite3.connect(path)
    rows = connection.execute("select sql from sqlite_schema where sql is not null and name not like 'sqlite_%' order by type desc, name")
    text = "\n\n".join(f"{row[0]};" for row in rows) + "\n"
    connection.close()
    return text


def with_steps(monkeypatch: pytest.MonkeyPatch, *steps: str) -> None:
    """The code of a later version, which knows more steps."""
    later = [
        Migration(number, f"{number:04d}_later.sql", sql, hashlib.sha256(sql.encode()).hexdigest())
        for number, sql in enumerate(steps, migrate.newest() + 1)
    ]
    known = (*migrate.known(), *later)
    monkeypatch.setattr(migrate, "known", lambda: known)


def test_the_steps_from_nothing_make_the_schema_that_is_checked_in(tmp_path: Path) -> None:
    SqliteStore(tmp_path, 1).close()

    assert schema_of(tmp_path / "journal.db") == SNAPSHOT.read_text(encoding="utf-8")


def test_released_steps_are_frozen() -> None:
    listed = {name: digest for digest, name in (line.split() for line in (SQL / "frozen.sha256").read_text().splitlines())}

    assert listed == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in queries.migration_files("sqlite")}


def test_a_changed_step_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(queries.SQL, tmp_path / "sql")
    step = tmp_path / "sql" / "sqlite" / "0001_initial.sql"
    step.write_text(step.read_text(encoding="utf-8") + "\n-- changed\n", encoding="utf-8")
    monkeypatch.setattr(migrate, "SQL", tmp_path / "sql")
    monkeypatch.setattr(queries, "SQL", tmp_path / "sql")
    migrate.known.cache_clear()
    try:
        with pytest.raises(RecordCorrupt):
            SqliteStore(tmp_path / "journal", 1)
    finally:
        migrate.known.cache_clear()


def test_a_journal_made_by_other_steps_is_refused(tmp_path: Path) -> None:
    SqliteStore(tmp_path, 1).close()
    connection = sqlite3.connect(tmp_path / "journal.db")
    connection.execute("update schema_versions set digest = 'other'")
    connection.commit()
    connection.close()

    with pytest.raises(RecordCorrupt):
        SqliteStore(tmp_path, 1)


def test_a_later_step_keeps_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    run = world.admit()
    world.close()
    with_steps(monkeypatch, "alter table chats add column colour text not null default 'none';\ncreate table later (x integer) strict;\n")

    world = World(tmp_path)

    assert world.journal.unfinished() == [run]
    assert world.journal.schema == migrate.newest()
    world.close()


def test_a_step_that_fails_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(tmp_path, 1).close()
    before = schema_of(tmp_path / "journal.db")
    with monkeypatch.context() as later:
        with_steps(later, "create table half (x integer);\ninsert into nowhere values (1);\n")
        with pytest.raises(Exception, match="nowhere"):
            SqliteStore(tmp_path, 1)

    SqliteStore(tmp_path, 1).close()
    assert schema_of(tmp_path / "journal.db") == before


def test_statements_are_cut_where_they_end() -> None:
    script = """create table a (x text default ';');
-- a comment; with a semicolon
create trigger t after insert on a begin select 1; select 2; end;
"""

    assert len(list(migrate.statements(script))) == 2


def test_every_released_schema_has_a_stored_journal() -> None:
    assert [path.name for path in GOLDEN] == [f"schema_{number}.sql" for number in range(1, migrate.newest() + 1)]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_a_stored_journal_opens_and_goes_on(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    connection = sqlite3.connect(tmp_path / "journal" / "journal.db")
    connection.executescript(golden.read_text(encoding="utf-8"))
    connection.close()
    if (head := golden.with_suffix(".head")).exists():
        shutil.copy(head, tmp_path / "journal" / "journal.head")

    world = World(tmp_path / "journal")

    assert schema_of(tmp_path / "journal" / "journal.db") == SNAPSHOT.read_text(encoding="utf-8")
    (held,) = world.journal.unfinished()
    assert held.hold is not None
    assert (held.title, held.state, held.hold.reason) == ("A title", RunState.HELD, HoldReason.OUTCOME_UNKNOWN)
    assert [run.answer for run in world.journal.runs_of("finished")] == ["bye"]
    loaded = world.journal.resume_point(held.run_id)
    assert loaded.tree.value(loaded.tree.list(loaded.tree.value(loaded.root)["history"])[0]) == "hello"
    assert [call.value for call in world.journal.calls(held.run_id)] == [{"response": "I push"}, None]
    assert [each.content for each in world.journal.waiting(held.chat_id)] == [{"text": "and then?"}]
    call = world.journal.calls(held.run_id)[1]
    world.claim(world.decide(held, Choice.CONFIRMED_COMPLETED, call))
    world.close()


def test_two_copies_of_one_content_become_one_and_the_right_one_stays(tmp_path: Path) -> None:
    """Until schema 4 parts of saved states lay in a table of their own."""
    (tmp_path / "journal").mkdir()
    connection = sqlite3.connect(tmp_path / "journal" / "journal.db")
    connection.executescript((HERE / "golden" / "schema_4.sql").read_text(encoding="utf-8"))
    shutil.copy(HERE / "golden" / "schema_4.head", tmp_path / "journal" / "journal.head")
    bodies = {name: codec.body(name) for name in ("equal", "value damaged", "part damaged", "both damaged", "part only")}
    stub = b"\x00file:%s:300000" % codec.body("large").digest.encode()
    for name, body in bodies.items():
        value = b"?" if name in ("value damaged", "both damaged") else body.data
        part = b"!" if name in ("part damaged", "both damaged") else body.data
        if name != "part only":
            connection.execute("insert into blobs (digest, body) values (?, ?)", (body.digest, value))
        connection.execute("insert into nodes (digest, body) values (?, ?)", (body.digest, part))
    for table in ("blobs", "nodes"):
        connection.execute(f"insert into {table} (digest, body) values (?, ?)", (codec.body("large").digest, stub))
    values = {row[0] for row in connection.execute("select digest from blobs")}
    parts = {row[0] for row in connection.execute("select digest from nodes")}
    connection.commit()
    connection.close()

    SqliteStore(tmp_path / "journal", 1).close()

    connection = sqlite3.connect(tmp_path / "journal" / "journal.db")
    found = {row[0]: (row[1], row[2]) for row in connection.execute("select digest, body, is_node from blobs")}
    connection.close()
    assert set(found) == values | parts
    assert {digest for digest, (_, is_node) in found.items() if is_node} == parts
    for name, body in bodies.items():
        assert found[body.digest][0] == (b"?" if name == "both damaged" else body.data), name
    assert found[codec.body("large").digest][0] == stub


def test_saved_states_keep_their_order_their_run_and_who_chose_them(tmp_path: Path) -> None:
    """Until schema 4 a checkpoint had a number of its own, and of a run that was being removed events went first."""
    (tmp_path / "journal").mkdir()
    connection = sqlite3.connect(tmp_path / "journal" / "journal.db")
    connection.executescript((HERE / "golden" / "schema_4.sql").read_text(encoding="utf-8"))
    shutil.copy(HERE / "golden" / "schema_4.head", tmp_path / "journal" / "journal.head")
    old = connection.execute("select checkpoint_id, run_id, seq, root, body, position, seal, created_at from checkpoints").fetchall()
    ((run_id,),) = connection.execute("select run_id from runs where state = 'held'")
    ((number, place),) = connection.execute("select checkpoint_id, seq from checkpoints where run_id = ?", (run_id,))
    assert number != place
    for name, chosen, seq in (("state", number, 900), ("chat", None, 901)):
        values = (name, run_id, chosen, f"request {name}", "a note", "panel:alice", seq, 1)
        connection.execute("insert into restore_selections values (?, ?, ?, ?, ?, ?, ?, ?)", values)
    connection.execute("insert into events (seq, at, kind, boot_id, facts) select 902, 1, 'changes_seen', max(boot_id), x'7b7d' from boots")
    events = connection.execute("select seq, run_id, kind, facts from events order by seq").fetchall()
    connection.execute("delete from events where run_id <> ?", (run_id,))
    connection.commit()
    connection.close()

    world = World(tmp_path / "journal")
    (held,) = world.journal.unfinished()
    assert list(world.journal.states(run_id)) == [place] == [held.checkpoint_seq]
    assert world.journal.resume_point(run_id).seq == place
    world.close()

    connection = sqlite3.connect(tmp_path / "journal" / "journal.db")
    found = connection.execute("select run_id, seq, root, body, position, seal, created_at from checkpoints order by seq").fetchall()
    chosen = dict(connection.execute("select selection_id, checkpoint_seq from restore_selections"))
    notices = connection.execute("select seq, null, kind, facts from notices where seq = 902").fetchall()
    mine = "select seq, run_id, kind, facts from events where run_id = ? and seq < 900 order by seq"
    kept = connection.execute(mine, (run_id,)).fetchall()
    others = connection.execute("select seq, kind from events where run_id <> ? order by seq", (run_id,)).fetchall()
    connection.close()
    assert found == [row[1:] for row in sorted(old, key=lambda row: row[2])]
    assert chosen == {"state": place, "chat": None}
    assert notices == [row for row in events if row[1] is None]
    assert kept[: len([row for row in events if row[1] == run_id])] == [row for row in events if row[1] == run_id]
    assert others == [(row[2], "checkpoint_saved") for row in old if row[1] != run_id]


@pytest.mark.parametrize("gone", ["blobs where digest in (select arguments_digest from calls)", "chats where chat_id = 'chat'", "boots"])
def test_a_reference_that_led_nowhere_before_closes_no_other_chat(tmp_path: Path, gone: str) -> None:
    """Damage is told where it is read (I9); a step that refused the whole journal for it would leave every chat unguarded."""
    (tmp_path / "journal").mkdir()
    connection = sqlite3.connect(tmp_path / "journal" / "journal.db")
    connection.executescript((HERE / "golden" / "schema_4.sql").read_text(encoding="utf-8"))
    shutil.copy(HERE / "golden" / "schema_4.head", tmp_path / "journal" / "journal.head")
    assert connection.execute(f"delete from {gone}").rowcount
    connection.commit()
    connection.close()

    world = World(tmp_path / "journal")

    assert world.journal.schema == migrate.newest()
    assert [run.state for run in world.journal.unfinished()] == [RunState.HELD]
    assert [run.answer for run in world.journal.runs_of("finished")] == ["bye"]
    world.run_in(RunState.COMPLETED, "a new chat")
    world.close()


def test_a_step_that_breaks_a_reference_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    run = world.admit()
    world.close()
    before = schema_of(tmp_path / "journal.db")
    with monkeypatch.context() as later:
        with_steps(later, "delete from chats;\ncreate table later (x integer) strict;\n")
        with pytest.raises(RecordCorrupt, match="does not fit"):
            SqliteStore(tmp_path, 1)

    assert schema_of(tmp_path / "journal.db") == before
    world = World(tmp_path)
    assert world.journal.unfinished() == [run]
    world.close()


def used_queries() -> Iterator[str]:
    """Names in the engine's own calls: tx.one("name"), .all, .change, and the look from outside."""
    for path in JOURNAL.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = {"one": 0, "all": 0, "change": 0, "change_each": 0, "peek": 1}.get(name)
            value = node.args[place] if place is not None and len(node.args) > place else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def test_every_query_is_used_and_every_used_query_exists() -> None:
    assert set(used_queries()) == set(queries.load("sqlite"))


def test_every_query_is_valid_sql_with_named_values(tmp_path: Path) -> None:
    SqliteStore(tmp_path, 1).close()
    connection = sqlite3.connect(tmp_path / "journal.db")
    for statement in queries.load("sqlite").values():
        names = set(re.findall(r":(\w+)", statement))
        connection.execute(f"explain {statement}", dict.fromkeys(names))
    connection.close()


def test_every_column_with_a_body_is_named_so() -> None:
    """What may be a stub is known by the end of its name."""
    names = {name for statement in queries.load("sqlite").values() for name in re.findall(r"\bbody as (\w+)", statement)}

    assert names
    assert all(name.endswith("body") for name in names)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("unfinished_run_of_chat", "one_unfinished_run_per_chat"),
        ("run_of_message", "one_run_per_message"),
        ("unfinished_runs", "one_unfinished_run_per_chat"),
        ("unfinished_runs", "children_by_state"),
        ("peek_unfinished", "children_by_state"),
        ("call_at_key", "one_call_per_key"),
        ("open_calls_of_run", "one_call_per_key"),
        ("newest_checkpoint", "sqlite_autoindex_runs_1"),
        ("checkpoints_of_run", "PRIMARY KEY (run_id=?)"),
        ("waiting_inputs", "waiting_inputs"),
        ("list_held", "held_runs"),
        ("count_resumed", "claims_of_runs"),
        ("node", "sqlite_autoindex_blobs_1"),
        ("tombstone", "sqlite_autoindex_tombstones_1"),
        ("finished_root", "sqlite_autoindex_runs_1"),
        ("drop_evidence", "one_evidence_per_result"),
        ("drop_attempts", "sqlite_autoindex_attempts_1"),
        ("drop_old_checkpoints", "PRIMARY KEY (run_id=?)"),
        ("drop_checkpoints", "PRIMARY KEY (run_id=?)"),
        ("drop_events", "PRIMARY KEY (run_id=? AND seq=?)"),
        ("body_is_named", "sqlite_autoindex_blobs_1"),
    ],
)
def test_the_way_to_a_record_does_not_grow_with_the_journal(tmp_path: Path, query: str, index: str) -> None:
    SqliteStore(tmp_path, 1).close()
    connection = sqlite3.connect(tmp_path / "journal.db")
    statement = queries.load("sqlite")[query]
    names = set(re.findall(r":(\w+)", statement))
    plan = [row[3] for row in connection.execute(f"explain query plan {statement}", dict.fromkeys(names))]
    connection.close()

    assert any(index in line for line in plan)
    assert [line for line in plan if line.startswith("SCAN") and "USING INDEX" not in line] == []


def make_golden(path: Path, folder: Path) -> None:
    """How a stored journal is made, once, when its schema is released."""
    world = World(folder)
    run = world.admit()
    world.done(run, model(1), {"response": "I push"})
    world.opened(run, tool(1), arguments={"code": "git push"})
    world.journal.keep_input(run.run_id, "x", {"text": "and then?"}).result()
    world.run_in(RunState.COMPLETED, "finished")
    world.restart()
    hold = world.journal.classify(run.run_id, lambda call: call.permission)
    assert isinstance(hold, Hold)
    world.journal.settle(run.run_id, hold).result()
    world.close()
    connection = sqlite3.connect(folder / "journal.db")
    pragmas = [f"pragma {name} = {connection.execute(f'pragma {name}').fetchone()[0]};" for name in ("application_id", "user_version")]
    # the table of counters is of no use any more, and a dump does not make it
    lines = [line for line in connection.iterdump() if "sqlite_sequence" not in line]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*pragmas, *lines]) + "\n", encoding="utf-8")
    connection.close()
    shutil.copy(folder / "journal.head", path.with_suffix(".head"))
