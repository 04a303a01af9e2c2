"""The page about the engine: its code runs as it stands there, and its words are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import journal
from journal.records import Choice
from journal.reviewed import _REPEAT

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "examples" / "bare_agent.py").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blocks.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.S)))
    monkeypatch.chdir(tmp_path)

    exec(compile((tmp_path / "blocks.py").read_text(), tmp_path / "blocks.py", "exec"), {"__name__": "blocks"})

    said = capsys.readouterr().out.splitlines()
    assert said[0] == "noted"
    assert said[1] == "written"
    assert said[2].endswith("Look, then decide: confirmed_completed, confirmed_not_completed, new_attempt, stop.")
    assert said[3:] == [
        "outcome_unknown ['tool:0:0:call_1'] ['confirmed_completed', 'confirmed_not_completed', 'new_attempt', 'stop']",
        "noted",
        "['ACME, 42.00', 'ACME, 42.00']",
    ]


def test_what_the_page_names_can_be_imported_from_the_engine() -> None:
    errors = PAGE.split("## Errors", 1)[1].split("\n## ", 1)[0]
    named = {word for cell in re.findall(r"^\| [^|]+\| ([^|]+)\|", errors, re.M) for word in re.findall(r"`([A-Z]\w+)`", cell)}
    named |= {word for line in re.findall(r"^from journal import (.+)$", PAGE, re.M) for word in line.split(", ")}

    assert {"RunHeld", "NotRecordable"} <= named
    assert sorted((named | {"StoreLocked", "ChatBusy", "InputConflict", "Policy"}) - set(journal.__all__)) == []


def test_the_difference_that_the_page_shows_is_that_of_the_example() -> None:
    (shown,) = re.findall(r"```diff\n(.*?)```", PAGE, re.S)
    lines = [line for line in shown.splitlines() if line[0] in "+-"]
    assert len(lines) == 4
    for line in lines:
        assert f"\n{line[1:]}\n" in EXAMPLE

    plain, durable = (re.search(rf"def {name}\(.*?\n    \"\"\".*?\"\"\"\n(.*?)\n\n", EXAMPLE, re.S) for name in ("plain", "durable"))
    assert plain
    assert durable
    changed = [pair for pair in zip(plain[1].splitlines(), durable[1].splitlines(), strict=True) if pair[0] != pair[1]]
    assert len(changed) == 2


def test_every_public_name_and_choice_is_explained() -> None:
    classes = {entry.__name__ for entry in _REPEAT} | {"Turns", "RunHeld", "StepFailed", "TurnFailed", "done", "not_done", "unknown"}

    assert classes <= set(journal.__all__)
    assert [name for name in classes if not re.search(rf"\b{name}\b", PAGE)] == []
    assert [choice.name for choice in Choice if f"`{choice.name}`" not in PAGE] == []
