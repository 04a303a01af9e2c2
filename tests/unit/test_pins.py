"""scripts/pins.py, run as a program against a checkout made for the test."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ACCEPTED: dict[str, Any] = json.loads((ROOT / "UPSTREAM.json").read_text(encoding="utf-8"))["hosts"][-1]


class Checkout:
    """A git repository with a file at each pinned path, tagged like a release."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.pins = folder / "host", folder / "pins.json"
        for name in [*ACCEPTED["files"], *ACCEPTED["replay"]]:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# {name}\n", encoding="utf-8")
        self.git("init", "--quiet")
        self.release("v9.1")

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True)

    def release(self, tag: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", tag)
        self.git("tag", tag)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "scripts" / "pins.py"), str(self.folder), "--file", str(self.pins), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def hosts(self) -> list[dict[str, Any]]:
        return json.loads(self.pins.read_text(encoding="utf-8"))["hosts"]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_an_entry_has_the_digests_of_the_bytes_on_disk(checkout: Checkout) -> None:
    done = checkout.run()

    (host,) = checkout.hosts()
    assert done.returncode == 0, done.stderr
    assert host["label"] == "v9.1"
    assert set(host["files"]) == set(ACCEPTED["files"])
    assert host["files"]["agent.py"] == hashlib.sha256(b"# agent.py\n").hexdigest()


def test_a_second_version_is_added_and_the_first_stays(checkout: Checkout) -> None:
    checkout.run()
    first = checkout.hosts()
    (checkout.folder / "agent.py").write_text("# another\n", encoding="utf-8")
    checkout.release("v9.2")

    checkout.run()

    assert checkout.hosts()[0] == first[0]
    assert [host["label"] for host in checkout.hosts()] == ["v9.1", "v9.2"]


def test_check_names_each_file_that_differs_and_writes_nothing(checkout: Checkout) -> None:
    checkout.run()
    before = checkout.pins.read_bytes()
    (checkout.folder / "models.py").write_text("# another\n", encoding="utf-8")
    checkout.release("v9.2")

    done = checkout.run("--check", "--label", "v9.1")

    assert done.returncode == 1
    assert "files: models.py: differs" in done.stdout
    assert "agent.py" not in done.stdout
    assert checkout.pins.read_bytes() == before


def test_check_is_content_with_what_was_pinned(checkout: Checkout) -> None:
    checkout.run()

    assert checkout.run("--check").returncode == 0


def test_a_checkout_with_local_changes_is_refused(checkout: Checkout) -> None:
    (checkout.folder / "agent.py").write_text("# edited by hand\n", encoding="utf-8")

    done = checkout.run()

    assert done.returncode == 1
    assert "agent.py" in done.stderr
    assert not checkout.pins.exists()


def test_a_checkout_without_a_relied_on_file_is_refused(checkout: Checkout) -> None:
    (checkout.folder / "helpers" / "defer.py").unlink()
    checkout.release("v9.2")

    done = checkout.run()

    assert done.returncode == 1
    assert "helpers/defer.py" in done.stderr
    assert not checkout.pins.exists()
