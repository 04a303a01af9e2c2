"""What the system counted of kills for lack of memory, read from real files of both versions of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest
from usr.plugins.durable_execution.bridge.endings import memory


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "proc/sys/kernel/random/boot_id", "the-boot\n")
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("groups", "file", "text"),
    [
        ("0::/\n", "sys/fs/cgroup/memory.events", "low 0\nmax 4\noom 3\noom_kill 2\noom_group_kill 0\n"),
        ("0::/box/one\n", "sys/fs/cgroup/box/one/memory.events", "oom 3\noom_kill 2\n"),
        ("0::/seen/from/outside\n", "sys/fs/cgroup/memory.events", "oom_kill 2\n"),
        ("5:cpu:/\n4:memory:/box\n", "sys/fs/cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ],
)
def test_the_count_of_this_group_and_which_group_it_is(root: Path, groups: str, file: str, text: str) -> None:
    write(root, "proc/self/cgroup", groups)
    write(root, file, text)

    found = memory(root)

    assert found["kills"] == 2
    assert found["place"] == f"the-boot:{(root / file).parent.stat().st_ino}"


@pytest.mark.parametrize("text", ["", "low 0\n", "\xff\xfe"])
def test_what_cannot_be_read_is_not_known(root: Path, text: str) -> None:
    write(root, "proc/self/cgroup", "0::/\n")
    write(root, "sys/fs/cgroup/memory.events", text)

    assert memory(root) == {}


def test_a_system_without_control_groups(root: Path) -> None:
    assert memory(root) == {}


def test_this_system_can_be_asked() -> None:
    found = memory()

    assert found == {} or (found["kills"] >= 0 and ":" in found["place"])
