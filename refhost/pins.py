"""Computes the pin file of a world over its own host files, so that the plugin's preflight runs unchanged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

LABEL = "reference host"
REPLAY = ("tools/call_subordinate.py", "tools/parallel.py", "tools/response.py", "tools/wait.py")


def host_files(world: Path) -> dict[str, str]:
    """SHA-256 of every Python file of the host; `usr/` is not the host's."""
    paths = sorted(path for path in world.rglob("*.py") if path.relative_to(world).parts[0] != "usr")
    return {path.relative_to(world).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def upstream(world: Path) -> dict[str, Any]:
    files = host_files(world)
    commit = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:40]
    replay = {name: files[name] for name in REPLAY}
    return {"schema": 1, "hosts": [{"label": LABEL, "commit": commit, "files": files, "replay": replay}]}


def write(world: Path, plugin_folder: Path) -> None:
    text = json.dumps(upstream(world), indent=2, sort_keys=True)
    (plugin_folder / "UPSTREAM.json").write_text(f"{text}\n", "utf-8")
