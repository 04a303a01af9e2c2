"""What is looked at each minute is not read each time, and whatever is changed is seen all the same."""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from usr.plugins.durable_execution.bridge import edition, paths, unread
from usr.plugins.durable_execution.bridge.unread import Unread


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read, in order. A file's change time cannot be set back, so each counts as settled."""
    seen: list[str] = []
    digest = unread.digest

    def noted(path: Path) -> str:
        seen.append(path.name)
        return digest(path)

    monkeypatch.setattr(unread, "digest", noted)
    monkeypatch.setattr(unread, "SETTLED_MS", 0)
    return seen


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "code.py"
    made.write_bytes(b"one")
    return made


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_file_that_nobody_wrote_is_read_once(file: Path, read: list[str]) -> None:
    files = Unread()
    assert {files.digest(str(file)) for _ in range(3)} == {sha(b"one")}
    assert read == ["code.py"]


def in_place(file: Path) -> None:
    file.write_bytes(b"two")


def by_another_file(file: Path) -> None:
    beside = file.with_suffix(".new")
    beside.write_bytes(b"two")
    beside.replace(file)


def under_its_old_times(file: Path) -> None:
    before = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [in_place, by_another_file, under_its_old_times])
def test_a_change_of_the_same_size_is_seen_also_where_the_times_are_put_back(
    file: Path, read: list[str], change: Callable[[Path], None]
) -> None:
    files = Unread()
    before = files.digest(str(file)), file.stat().st_ctime_ns
    while file.stat().st_ctime_ns == before[1]:  # the file system's clock ticks slowly
        change(file)
    assert (before[0], files.digest(str(file))) == (sha(b"one"), sha(b"two"))


def test_what_was_written_a_moment_ago_is_read_each_time(file: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "SETTLED_MS", 3_600_000)
    files = Unread()
    assert {files.digest(str(file)) for _ in range(2)} == {sha(b"one")}
    assert read == ["code.py", "code.py"]


def test_all_is_read_again_after_some_time(file: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "ANEW_S", -1.0)
    files = Unread()
    assert {files.digest(str(file)) for _ in range(2)} == {sha(b"one")}
    assert read == ["code.py", "code.py"]


def test_a_file_that_is_gone_has_no_digest_and_a_new_one_its_own(file: Path, read: list[str]) -> None:
    files = Unread()
    files.digest(str(file))
    file.unlink()
    assert files.digest(str(file)) == ""
    file.write_bytes(b"two")
    assert files.digest(str(file)) == sha(b"two")


@contextmanager
def too_many_open_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_what_could_not_be_read_for_a_moment_is_read_the_next_time(file: Path, read: list[str]) -> None:
    files = Unread()
    with too_many_open_files():
        assert files.digest(str(file)) == ""
        with pytest.raises(OSError, match="Too many open files"):
            list(files.directly_in(str(file.parent)))

    assert files.digest(str(file)) == sha(b"one")
    assert list(files.directly_in(str(file.parent))) == [str(file)]


def test_code_that_cannot_be_read_is_not_taken_for_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "SETTLED_MS", 0)
    fresh = Unread()
    monkeypatch.setattr(edition, "files", fresh)
    for folder in ("journal", "bridge", "overrides"):
        assert list(fresh.below(f"{paths.ROOT}/{folder}"))

    with too_many_open_files(), pytest.raises(OSError, match="cannot be read"):
        edition.code_digest()

    assert edition.code_digest() == edition.CODE


def test_files_are_found_at_every_depth_and_what_comes_and_goes_is_seen(tmp_path: Path, read: list[str]) -> None:
    files = Unread()
    (tmp_path / "in/deeper").mkdir(parents=True)
    (tmp_path / "in/__pycache__").mkdir()
    for name in ("in/a", "in/deeper/b", "in/__pycache__/c", "beside"):
        (tmp_path / name).write_text("")
    (tmp_path / "in/link").symlink_to(tmp_path / "beside")
    (tmp_path / "in/nowhere").symlink_to(tmp_path / "later")
    (tmp_path / "in/folder").symlink_to(tmp_path / "in/deeper")

    def found() -> list[str]:
        return sorted(path.removeprefix(f"{tmp_path}/") for path in files.below(str(tmp_path / "in")))

    assert found() == ["in/a", "in/deeper/b", "in/link"]
    assert [Path(path).name for path in files.directly_in(str(tmp_path))] == ["beside"]
    (tmp_path / "in/deeper/b").unlink()
    (tmp_path / "later").write_text("")
    assert found() == ["in/a", "in/link", "in/nowhere"]
    before = (tmp_path / "in").stat().st_ctime_ns
    while (tmp_path / "in").stat().st_ctime_ns == before:  # the file system's clock ticks slowly
        (tmp_path / "in/new").unlink(missing_ok=True)
        (tmp_path / "in/new").write_text("")
    assert found() == ["in/a", "in/link", "in/new", "in/nowhere"]
    assert list(files.below(str(tmp_path / "none"))) == []
