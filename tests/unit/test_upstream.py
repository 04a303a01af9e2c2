"""UPSTREAM.json says what was reviewed: complete, well-formed, and written by scripts/pins.py."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "UPSTREAM.json").read_text(encoding="utf-8")
HOSTS: list[dict[str, Any]] = json.loads(TEXT)["hosts"]
HOST_ROOTS = {"agent", "helpers", "models", "initialize", "run_ui"}

each_host = pytest.mark.parametrize("host", HOSTS, ids=lambda host: host["label"])


def covered(host: dict[str, Any], parts: tuple[str, ...]) -> str | None:
    """The pinned file of the longest leading part of a dotted name."""
    spelled = {"__main__": "run_ui.py", "plugins": "api/plugins.py"}
    if parts[0] in spelled:
        return spelled[parts[0]] if spelled[parts[0]] in host["files"] else None
    names = ("/".join(parts[:length]) + ".py" for length in range(len(parts), 0, -1))
    return next((name for name in names if name in host["files"]), None)


def hook_stubs() -> Iterator[Path]:
    yield from sorted((ROOT / "extensions" / "python" / "_functions").rglob("*.py"))


def host_imports() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each place where our code takes something from the host, with the dotted name it takes."""
    for room in ("api", "bridge", "extensions", "tools"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
                names: list[str] = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                for name in names:
                    if name.split(".")[0] in HOST_ROOTS:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", tuple(name.split("."))


def test_the_file_is_exactly_what_the_script_writes() -> None:
    assert json.dumps(json.loads(TEXT), indent=2, sort_keys=True) + "\n" == TEXT


def test_at_least_one_host_is_accepted_and_labels_are_unique() -> None:
    labels = [host["label"] for host in HOSTS]

    assert json.loads(TEXT)["schema"] == 1
    assert labels
    assert labels == sorted(set(labels))


@each_host
def test_an_entry_names_a_commit_and_whole_digests(host: dict[str, Any]) -> None:
    digests = [*host["files"].values(), *host["replay"].values()]

    assert sorted(host) == ["commit", "files", "label", "replay"]
    assert re.fullmatch(r"[0-9a-f]{40}", host["commit"])
    assert digests
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)


@each_host
def test_paths_are_relative_and_inside_the_host(host: dict[str, Any]) -> None:
    for name in [*host["files"], *host["replay"]]:
        assert not Path(name).is_absolute()
        assert ".." not in Path(name).parts
        assert not name.startswith("usr/"), "a person's own files are never part of the host"


@each_host
def test_every_hooked_module_is_pinned(host: dict[str, Any]) -> None:
    functions = ROOT / "extensions" / "python" / "_functions"
    hooks = {stub.relative_to(functions).parts[:-2] for stub in hook_stubs()}

    assert hooks
    assert [".".join(parts) for parts in sorted(hooks) if covered(host, parts) is None] == []


@each_host
def test_every_wrapped_host_function_is_pinned(host: dict[str, Any]) -> None:
    targets = [path.relative_to(ROOT / "overrides").as_posix() for path in (ROOT / "overrides").rglob("*.py")]

    assert targets
    assert [name for name in targets if name not in host["files"]] == []


@each_host
def test_every_host_module_that_our_code_imports_is_pinned(host: dict[str, Any]) -> None:
    found = list(host_imports())

    assert found
    assert [f"{place} {'.'.join(parts)}" for place, parts in found if covered(host, parts) is None] == []


@each_host
def test_every_policy_of_the_replay_list_has_a_pinned_source(host: dict[str, Any]) -> None:
    from usr.plugins.durable_execution.bridge.policies import OWN, POLICIES

    pinned = {Path(name).stem for name in (*host["replay"], *OWN)}

    assert set(POLICIES) <= pinned
    assert not set(host["replay"]) & set(host["files"]), "a replay source must not decide whether the plugin activates"


def test_a_tool_of_our_own_is_pinned_by_its_own_source() -> None:
    from usr.plugins.durable_execution.bridge.policies import OWN

    assert {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in OWN} == OWN, "reviewed again? then pin it anew"
