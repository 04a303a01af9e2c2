"""Real file systems for a test: a small one in memory, an ext4 in a file that can lose its power, a layered one."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_SHUT_DOWN = 0x8004587D
_WITHOUT_FLUSHING = 2


def _run(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


@cache
def can_mount() -> bool:
    """Whether this process may mount. Asked by trying: a container's root may not."""
    return (
        os.geteuid() == 0 and subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True).returncode == 0
    )


@cache
def can_loop() -> bool:
    free = shutil.which("mkfs.ext4") and can_mount() and subprocess.run(["losetup", "-f"], capture_output=True, check=False).returncode == 0
    return bool(free)


@contextmanager
def _mounted(path: Path, *how: str | Path) -> Iterator[Path]:
    path.mkdir(parents=True, exist_ok=True)
    _run("mount", *how, path)
    try:
        yield path
    finally:
        _run("umount", path)


@contextmanager
def tmpfs(path: Path, size: int) -> Iterator[Path]:
    with _mounted(path, "-t", "tmpfs", "-o", f"size={size}", "none"):
        yield path


class Mounted:
    """An ext4 in a file."""

    def __init__(self, folder: Path) -> None:
        self.path, self._image = folder / "mounted", folder / "image"

    def make(self) -> None:
        self.path.mkdir(parents=True)
        with self._image.open("wb") as image:
            image.truncate(64 * 1024 * 1024)
        _run("mkfs.ext4", "-q", "-F", self._image)
        self.mount()

    def mount(self) -> None:
        _run("mount", "-o", "loop", self._image, self.path)

    def remount(self) -> None:
        _run("umount", self.path)
        self.mount()

    def shut_down(self) -> None:
        """As if the power went out: nothing is flushed, every call fails from now on."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUT_DOWN, struct.pack("I", _WITHOUT_FLUSHING))
        finally:
            os.close(folder)

    def abort(self) -> None:
        """The file system finds an error and makes itself read-only, under files that are open for writing."""
        _run("mount", "-o", "remount,abort", self.path)


@contextmanager
def ext4(folder: Path) -> Iterator[Mounted]:
    mounted = Mounted(folder)
    mounted.make()
    try:
        yield mounted
    finally:
        _run("umount", mounted.path)


@contextmanager
def overlay(lower: Path, upper: Path, path: Path) -> Iterator[Path]:
    """A container's folder: `lower` is its image, what is written goes to `upper`."""
    for part in (lower, upper / "changes", upper / "work"):
        part.mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={lower},upperdir={upper / 'changes'},workdir={upper / 'work'}"
    with _mounted(path, "-t", "overlay", "-o", options, "overlay"):
        yield path
