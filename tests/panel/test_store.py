"""Runs the tests of the panel's own modules, which need no browser and no server."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="there is no node on PATH; the panel's modules are then tested in the browser only")
@pytest.mark.parametrize("path", sorted(HERE.glob("store/*.test.mjs")), ids=lambda path: path.name)
def test_the_modules_of_the_panel(path: Path) -> None:
    done = subprocess.run([str(NODE), "--test", "--test-reporter=spec", str(path)], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "pass 0" not in done.stdout
