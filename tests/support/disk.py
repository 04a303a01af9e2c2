"""A disk that loses its power: the calls of a real process, recorded by strace, and what they leave behind at any moment.

Only what was synced is sure to stay. What was written since may be there, may be missing, may be there in parts, in any
order; a name is sure once its folder was synced. After a sync that failed, what it should have written counts as
clean, as on Linux: no later sync writes it.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
TRACED = "openat,write,pwrite64,fdatasync,fsync,ftruncate,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir"
_CALL = re.compile(r"^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+)(.*)$", re.S)
_UNFINISHED = re.compile(r"^(\d+)\s+(\w+)\((.*) <unfinished \.\.\.>$", re.S)
_RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$", re.S)
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FILE = re.compile(r"^(-?\d+)<((?:\\x[0-9a-f]{2})*|[^>]*)>")


def has_strace() -> bool:
    return shutil.which("strace") is not None


@dataclass(frozen=True)
class Event:
    """One call that changed something: `what` it was, on which path, with what."""

    what: str
    path: str
    data: bytes = b""
    offset: int = 0
    other: str = ""


def record(command: Sequence[str], log: Path, *, inject: str = "", only: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run a command and write down its calls, or `only` the names of some; `inject` makes calls fail, as strace(1) says."""
    how = ["strace", "-f", "-qq", "-y", "-xx", "-s", "0" if only else "100000000", "-e", f"trace={only or TRACED}", "-o", str(log)]
    return subprocess.run([*how, *(["-e", f"inject={inject}"] if inject else []), *command], capture_output=True, check=False)


def events(log: Path, root: Path) -> list[Event]:
    """What happened below `root`, in order, and everything that was said on stdout."""
    found = []
    for name, arguments, answer in _calls(log):
        event = _event(name, arguments, answer)
        if event is not None and (event.what == "said" or event.path.startswith(str(root))):
            found.append(event)
    return found


def _calls(log: Path) -> Iterator[tuple[str, str, int]]:
    """A write counts from when it begins, anything else from when it has ended."""
    begun: dict[str, tuple[str, str]] = {}
    for line in log.read_text(encoding="ascii").splitlines():
        if match := _UNFINISHED.match(line):
            begun[match[1]] = (match[2], match[3])
            if match[2] in ("write", "pwrite64"):
                yield match[2], match[3], 1
        elif match := _RESUMED.match(line):
            name, arguments = begun.pop(match[1], ("", ""))
            whole = _CALL.match(f"{match[1]} {name}({arguments}{match[3]}")
            if whole and name not in ("write", "pwrite64"):
                yield name, whole[3], int(whole[4])
        elif match := _CALL.match(line):
            yield match[2], match[3], int(match[4])


def _event(name: str, arguments: str, answer: int) -> Event | None:
    match name:
        case "fsync" | "fdatasync":
            return Event("sync" if answer == 0 else "failed sync", _file(arguments)[1])
        case _ if answer < 0:
            return None
        case "write" | "pwrite64":
            number, path = _file(arguments)
            if name == "pwrite64":
                return Event("write", path, _written(arguments), int(arguments.rsplit(",", 1)[1]))
            return Event("said" if number == 1 else "append", path, _written(arguments))
        case "ftruncate":
            return Event("cut", _file(arguments)[1], offset=int(arguments.rsplit(",", 1)[1]))
        case "openat" if "O_CREAT" in arguments:
            return Event("open", _paths(arguments)[-1])
        case "mkdir" | "mkdirat":
            return Event("mkdir", _paths(arguments)[-1])
        case "unlink" | "unlinkat" | "rmdir":
            return Event("unlink", _paths(arguments)[-1])
        case "rename" | "renameat" | "renameat2":
            old, new = _paths(arguments)[-2:]
            return Event("rename", old, other=new)
    return None


def _paths(arguments: str) -> list[str]:
    return [_bytes(text).decode() for text in _TEXT.findall(arguments)]


def _file(arguments: str) -> tuple[int, str]:
    match = _FILE.match(arguments)
    assert match, arguments[:200]
    path = _bytes(match[2]).decode() if match[2].startswith("\\x") else match[2]
    return int(match[1]), path


def _written(arguments: str) -> bytes:
    return _bytes(_TEXT.findall(arguments)[-1])


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


# -- the disk -------------------------------------------------------------------------------------


@dataclass
class Inode:
    """`now` is what a reader sees, `sure` what a power cut leaves, `since` what was written in between."""

    folder: bool = False
    now: bytearray = field(default_factory=bytearray)
    sure: bytearray = field(default_factory=bytearray)
    since: list[Event] = field(default_factory=list)
    clean: list[Event] = field(default_factory=list)


class Disk:
    """Takes events; `after_power_loss` makes a folder of what could be left."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[str, Inode] = {str(root): Inode(folder=True)}
        self._sure_names = dict(self.names)
        self._moves: list[tuple[str, dict[str, Inode | None]]] = []

    def take(self, event: Event) -> None:
        match event.what:
            case "open" if event.path not in self.names:
                self._rename({event.path: Inode()})
            case "mkdir":
                self._rename({event.path: Inode(folder=True)})
            case "unlink":
                self._rename({event.path: None})
            case "rename":
                self._rename({event.other: self.names[event.path], event.path: None})
            case "write" | "append" | "cut":
                inode = self.names[event.path]
                offset = len(inode.now) if event.what == "append" else event.offset
                change = Event("cut" if event.what == "cut" else "write", event.path, event.data, offset)
                _apply(inode.now, change)
                inode.since.append(change)
            case "sync":
                self._sync(event.path)
            case "failed sync":
                inode = self.names[event.path]
                inode.clean += inode.since
                inode.since = []

    def _rename(self, changes: dict[str, Inode | None]) -> None:
        _name(self.names, changes)
        self._moves.append((str(Path(next(iter(changes))).parent), changes))

    def _sync(self, path: str) -> None:
        inode = self.names.get(path)
        if inode is None:
            return  # synced through a descriptor of a file that has no name any more
        for change in inode.since:
            _apply(inode.sure, change)
        # A second write of the same place heals what an earlier failed sync lost.
        inode.clean = [lost for lost in inode.clean if not _covered(lost, inode.since)]
        inode.since = []
        if inode.folder:
            for _, changes in (move for move in self._moves if move[0] == path):
                _name(self._sure_names, changes)
            self._moves = [move for move in self._moves if move[0] != path]

    def after_power_loss(self, target: Path, keep: str, chance: random.Random) -> Path:
        """`keep` says what of the unsynced is left: "nothing", "everything" or "something"."""
        names = dict(self._sure_names)
        for _, changes in self._moves:
            if keep == "everything" or (keep == "something" and chance.random() < 0.5):
                _name(names, changes)
        for path in sorted(names):
            place = target / Path(path).relative_to(self.root)
            if names[path].folder:
                if place.parent.exists():
                    place.mkdir(exist_ok=True)
            elif place.parent.exists():
                place.write_bytes(_left(names[path], keep, chance))
        return target


def _left(inode: Inode, keep: str, chance: random.Random) -> bytes:
    if keep == "everything" and not inode.clean:
        return bytes(inode.now)
    left = bytearray(inode.sure)
    for change in [*inode.clean, *inode.since]:
        if keep == "everything" and change not in inode.clean:
            _apply(left, change)
        elif keep == "something":
            for part in _parts(change, chance):
                _apply(left, part)
    return bytes(left)


def _parts(change: Event, chance: random.Random) -> list[Event]:
    """All of a write, nothing of it, or some of its sectors."""
    fate = chance.random()
    if fate < 0.35:
        return [change]
    if fate < 0.65 or change.what == "cut":
        return []
    parts = []
    first = SECTOR - change.offset % SECTOR
    edges = [0, *range(first, len(change.data), SECTOR), len(change.data)]
    for start, end in itertools.pairwise(edges):
        if chance.random() < 0.5:
            parts.append(Event("write", change.path, change.data[start:end], change.offset + start))
    return parts


def _apply(content: bytearray, change: Event) -> None:
    if change.what == "cut":
        content[change.offset :] = b"\0" * max(0, change.offset - len(content))
        return
    if len(content) < change.offset:
        content.extend(b"\0" * (change.offset - len(content)))
    content[change.offset : change.offset + len(change.data)] = change.data


def _covered(lost: Event, since: list[Event]) -> bool:
    """Whether every byte of a write was written again."""
    if lost.what == "cut":
        return any(change.what == "cut" for change in since)
    missing = {*range(lost.offset // SECTOR, (lost.offset + len(lost.data) - 1) // SECTOR + 1)}
    for change in since:
        if change.what == "write" and change.data:
            missing -= {*range(change.offset // SECTOR, (change.offset + len(change.data) - 1) // SECTOR + 1)}
    return not missing


def _name(names: dict[str, Inode], changes: dict[str, Inode | None]) -> None:
    for path, inode in changes.items():
        if inode is None:
            names.pop(path, None)
        else:
            names[path] = inode


def python(program: Path, *arguments: object) -> list[str]:
    return [sys.executable, str(program), *map(str, arguments)]


def is_root() -> bool:
    return os.geteuid() == 0
