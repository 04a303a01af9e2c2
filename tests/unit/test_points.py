"""The catalogue of named points knows every write, every sync and every swap of the product, and nothing that is gone."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from journal.service import Journal
from tests.points import plan, run
from tests.points.catalogue import BEFORE, BESIDE, DOORS, ELSEWHERE, PLUGIN, POINTS, SPIED, STEPS, WRAPS, Wrap
from tests.points.play import Case

ROOT = Path(__file__).resolve().parents[2]
JOURNAL = {"journal/service.py": "Journal", "journal/owned.py": "Owned"}  # the files of the one door, and their classes
SUBMITS = {"_write", "_write_sized", "_desk", "submit"}
DRY = {"plan"}  # says what `prune` would remove, from the same desk, and removes nothing


def uses(node: ast.AST, names: set[str]) -> bool:
    """Whether an attribute of one of these names is called, or handed on."""
    return any(isinstance(inner, ast.Attribute) and inner.attr in names for inner in ast.walk(node))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def methods_of(path: Path, name: str) -> list[ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return [node for node in found.body if isinstance(node, ast.FunctionDef)]


def test_the_door_of_the_journal_has_no_other_part_that_writes() -> None:
    parts = {each.__name__ for each in Journal.__mro__ if hasattr(each, "_write")}

    assert parts == set(JOURNAL.values())


def test_every_door_of_the_journal_that_writes_is_a_point_and_every_such_point_a_door() -> None:
    methods = [method for path, name in JOURNAL.items() for method in methods_of(ROOT / path, name)]
    writing = {method.name for method in methods if not method.name.startswith("_") and uses(method, SUBMITS)}

    assert writing
    assert {door.partition(".")[0] for door in DOORS} | ELSEWHERE.keys() == writing - DRY


@pytest.mark.parametrize("test", [*(test for _, test in ELSEWHERE.values()), *BESIDE.values()])
def test_what_no_turn_of_a_host_passes_is_tried_elsewhere(test: str) -> None:
    assert (ROOT / test).exists()


def test_no_turn_of_a_host_asks_what_is_tried_elsewhere() -> None:
    asking = {
        path.name: door
        for path in (ROOT / "bridge").rglob("*.py")
        for door in ELSEWHERE
        if uses(ast.parse(path.read_text(encoding="utf-8")), {door})
    }

    assert asking == {"upkeep.py": "prune"}


def test_nothing_writes_past_the_doors_of_the_journal() -> None:
    beside = [
        f"{path.relative_to(ROOT)}: {function.name}"
        for room in ("journal", "bridge")
        for path in sorted((ROOT / room).rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in (*JOURNAL, *BESIDE)
        for function in functions(path)
        if uses(function, {"submit"})
    ]

    assert beside == []


def test_whatever_the_product_syncs_itself_is_seen() -> None:
    """These two are spied on; another way to sync would pass unseen."""
    names = {
        node.attr
        for room in ("journal", "bridge")
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os" and "sync" in node.attr
    }

    assert names == {"fsync", "fdatasync"}


@pytest.mark.parametrize("wrap", WRAPS, ids=lambda wrap: wrap.name)
def test_what_is_wrapped_exists(wrap: Wrap) -> None:
    found = importlib.import_module(f"{PLUGIN}.{wrap.module}")
    for part in wrap.function.split("."):
        found = getattr(found, part)

    assert callable(found)
    assert wrap.side in (BEFORE, "after")


def test_names_are_unique_and_tell_what_they_mean() -> None:
    assert len(POINTS) == len(DOORS) * len(STEPS) + len(WRAPS) + len(SPIED)
    assert all(point.meaning and point.where for point in POINTS.values())


FIRST, SECOND = "begin_call.tool.asked:1", "serve.tool:1"


@pytest.mark.parametrize(
    ("expected", "unpassed", "is_elsewhere"),
    [
        ("two commits", ["one commit"] * 3, True),
        ("two commits", ["one commit", "two commits"], False),  # the recovery of the plan, and the point was not passed
        ("two commits", ["one commit", None], False),  # it was not even killed the first time
        ("two commits", [], False),
        (None, ["one commit"], False),  # nobody knows what the plan saw
    ],
)
def test_a_pair_that_was_not_passed_is_excused_only_by_another_record_each_time(
    expected: str | None, unpassed: list[str | None], is_elsewhere: bool
) -> None:
    assert plan.is_elsewhere(expected, unpassed) is is_elsewhere


@pytest.mark.parametrize(("other", "code"), [(True, 0), (False, 1)])
def test_an_excused_pair_leaves_no_point_without_a_kill(other: bool, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """What no pair of this run killed at is a gap, whatever the reason."""
    single = Case("richest", (FIRST,))
    away, played = Case("richest", (FIRST, SECOND)), Case("richest", ("begin_call.tool.committed:1", SECOND))
    tally = run.Tally({single.name: {"case": single.name, "ok": True, "strange": [], "shapes": ["two commits"]}})
    if other:
        tally.passed[played.name] = {"case": played.name, "ok": True, "strange": []}

    tally._note({"case": away.name, "ok": False, "why": "never passed", "unpassed": ["one commit"] * 3})

    pairs = [away, played] if other else [away]
    assert run._verdict(tally, [single], pairs, is_whole=False) == code
    assert "not reachable in this run" in capsys.readouterr().out
    assert tally.failed == {}
