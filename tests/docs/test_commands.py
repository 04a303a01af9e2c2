"""The commands that the README names, run as a person would run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.support.sampling import thorough

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.crash
@pytest.mark.parametrize(
    ("decision", "effects", "last_line"),
    [
        ("confirmed_completed", 1, "effects 1, reused 1, held 1, completed 1"),
        ("confirmed_not_completed", 2, "effects 2, reused 1, held 1, completed 1"),
        *thorough(
            ("new_attempt", 2, "effects 2, reused 1, held 1, completed 1"),
            ("stop", 1, "effects 1, reused 0, held 1, completed 0"),
        ),
    ],
)
def test_the_demo_ends_as_the_decision_promises(tmp_path: Path, decision: str, effects: int, last_line: str) -> None:
    outside = tmp_path / "effects.txt"
    command = [sys.executable, str(ROOT / "scripts" / "demo.py"), "--check", "--decision", decision, "--effects", str(outside)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == last_line
    assert len(outside.read_text(encoding="utf-8").splitlines()) == effects


def test_help_lists_every_target() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)

    assert targets
    assert [target for target in targets if f"make {target} " not in listed] == []


@pytest.mark.parametrize("target", ["host", "host-cost", "pins"])
def test_a_target_that_needs_agent_zero_says_so_and_refuses(target: str) -> None:
    bare = {name: value for name, value in os.environ.items() if name not in {"A0_ROOT", "A0_PYTHON"}}

    done = subprocess.run(["make", target], cwd=ROOT, env=bare, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "A0_ROOT" in done.stderr


def test_setup_refuses_clearly_where_there_is_no_suitable_python(tmp_path: Path) -> None:
    for tool in ("bash", "cat", "cmp", "dirname", "id", "mktemp", "rm", "sort"):
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / tool).symlink_to(found)
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path), "VENV": str(tmp_path / "venv")}

    done = subprocess.run([tmp_path / "bash", ROOT / "scripts" / "setup.sh"], env=bare, capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert "3.12" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_an_environment_that_is_activated_can_be_made_anew(tmp_path: Path) -> None:
    """Its own python is the first on the path, and goes with it. Without an index nothing is installed, which comes after that."""
    made = tmp_path / "env"
    venv.create(made, with_pip=True)
    active = {**os.environ, "PATH": f"{made / 'bin'}:{os.environ['PATH']}", "VENV": str(made), "PIP_NO_INDEX": "1"}

    done = subprocess.run([ROOT / "scripts" / "setup.sh"], env=active, capture_output=True, text=True, check=False)

    assert "the pinned tools of requirements/dev.txt could not be installed" in done.stderr
    assert (made / "bin" / "python").exists()


def test_every_folder_of_tests_is_run_by_make_test_or_by_a_target_of_its_own() -> None:
    paths = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]["testpaths"]
    folders = {f"tests/{path.relative_to(ROOT / 'tests').parts[0]}" for path in (ROOT / "tests").rglob("test_*.py")}

    own = {"tests/live", "tests/recovery"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert folders - set(paths) == own
    assert [folder for folder in own if not re.search(rf"pytest .*{folder}\b", makefile)] == []
