"""The deliberate faults still fit the code, and what must notice them exists. `make mutants` tries them."""

from __future__ import annotations

import ast
import builtins
import symtable
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS, Mutant
from tests.points.catalogue import POINTS
from tests.points.play import Case
from tests.points.stories import STORIES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_fits_the_code_and_still_is_code(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert [text.count(old) for old, _ in mutant.changes] == [1] * len(mutant.changes)
    for old, new in mutant.changes:
        text = text.replace(old, new)
    if mutant.file.endswith(".py"):
        passed_in = {"journaled"} if mutant.file.startswith("overrides/") else set()
        assert sorted(_unknown_names(text) - passed_in) == [], "a NameError would be noticed in place of the fault"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_must_notice_a_fault_exists(mutant: Mutant) -> None:
    assert mutant.tests or mutant.cases
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or name.rpartition("::")[2] in _functions(path), test
    for case in map(Case.of, mutant.cases):
        assert case.story in STORIES
        assert {kill.rpartition(":")[0] for kill in case.kills} <= POINTS.keys()


def _unknown_names(text: str) -> set[str]:
    """Names that a function of this module would not find."""
    module = symtable.symtable(text, "<fault>", "exec")
    known = {name.get_name() for name in module.get_symbols() if name.is_assigned() or name.is_imported() or name.is_namespace()}
    scopes, used = [module], set()
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        used |= {name.get_name() for name in scope.get_symbols() if name.is_global() and name.is_referenced()}
    return used - known - set(dir(builtins)) - {"__file__", "__name__", "__path__"}


def _functions(path: str) -> set[str]:
    files = [ROOT / path, ROOT / "tests" / "store" / "contract.py"]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_names_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
