"""Which file system a folder lies on, and what a journal may do there. Reads the kernel's list of mounts, nothing else.

WAL needs memory that all connections share through a file, and a sync that reaches the disk. Where the first is
doubtful the journal works without WAL; where a lock may be granted to two machines it does not work at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ..errors import UnsafeFileSystem

MOUNTS = Path("/proc/self/mountinfo")

_NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "ncpfs", "davfs"),
        *(f"fuse.{name}" for name in ("sshfs", "s3fs", "rclone", "gcsfuse", "goofys", "glusterfs", "davfs2", "curlftpfs", "smbnetfs")),
    }
)
_SHARED_WITH_ANOTHER_KERNEL = frozenset({"fuse", "fuseblk", "virtiofs", "9p", "vboxsf", "prl_fs", "vmhgfs", "fakeowner", "drvfs"})
_DIES = {
    "overlay": "It is lost when the container is removed.",
    "aufs": "It is lost when the container is removed.",
    "tmpfs": "It is lost when the machine or the container ends.",
    "ramfs": "It is lost when the machine or the container ends.",
}


class Mode(Enum):
    """How SQLite may keep its journal."""

    WAL = "wal"
    ROLLBACK = "delete"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a folder lies."""

    folder: Path
    kind: str
    """The file system's name as the kernel says it; empty where it says nothing."""

    def check(self) -> None:
        """Raise UnsafeFileSystem where no way is safe."""
        if self.kind in _NETWORK:
            raise UnsafeFileSystem(self.kind, str(self.folder))

    @property
    def mode(self) -> Mode:
        """What is not known is trusted."""
        return Mode.ROLLBACK if self.kind in _SHARED_WITH_ANOTHER_KERNEL or self.kind.startswith("fuse.") else Mode.WAL

    @property
    def notes(self) -> list[str]:
        """What a person should know once about this place."""
        if self.kind in _DIES:
            return [f"The journal lies in {self.folder}, on {self.kind}. {_DIES[self.kind]} Mount a volume there to keep it."]
        if self.mode is Mode.ROLLBACK:
            text = "The journal is kept there without a write-ahead log, which is slower. A local disk or a named volume is faster."
            return [f"The journal lies in {self.folder}, on {self.kind}. {text}"]
        return []


def place_of(folder: Path) -> Place:
    """Where this folder lies, or would lie if it were made."""
    folder = folder.absolute()
    try:
        return Place(folder, kind_of(MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"), folder.resolve()))
    except OSError:
        return Place(folder, "")


def kind_of(mounts: str, path: Path) -> str:
    """The file system of the mount with the longest path above `path`; of several at one place the last covers the others."""
    best, found, target = -1, "", f"{path}/"
    for line in mounts.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = f"{_unescaped(fields[4]).rstrip('/')}/"
        if target.startswith(point) and len(point) >= best:
            best, found = len(point), right.split(" ")[0]
    return found


def _unescaped(text: str) -> str:
    """Spaces, tabs, line ends and backslashes are written in octal."""
    if "\\" not in text:
        return text
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
