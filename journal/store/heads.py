"""Small files beside the journal that say how far it has come, so that one that was put back is noticed.

A head is written in a pause after the commit that it names, and not synced: it may lag behind, and never runs ahead. A copy
that cannot be written is left behind and tried again later: a head never fails a write. Each copy is one line of
text with a checksum of its own, rewritten in place.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .bodies import sync

NAME = "journal.head"
SIZE = 256
_MAGIC = "durable-journal-head-1"


def elsewhere(folder: Path) -> tuple[Path, ...]:
    """The other copies of a journal at `usr/plugin_data/<name>`: at `usr/` and outside of it. None of one that lies anywhere else.

    A server's own backup takes all of `usr/`, and its restore writes all of it back: one copy lies where neither reaches.
    """
    if folder.parent.name != "plugin_data":
        return ()
    usr = folder.parent.parent
    return usr / f"{folder.name}.head", usr.parent / "tmp" / f"{folder.name}.head"


@dataclass(frozen=True, slots=True)
class Head:
    """What a head file says: this journal, in this generation, had committed this batch, in this opening."""

    journal_id: str
    generation: int
    number: int
    opening: str

    def encode(self) -> bytes:
        text = f"{_MAGIC} {self.journal_id} {self.generation} {self.number} {self.opening}"
        return f"{text} {zlib.crc32(text.encode()):08x}".ljust(SIZE - 1).encode() + b"\n"


def decode(data: bytes) -> Head | None:
    """None for anything that `encode` did not write whole: torn, zeroed, of a later form."""
    text, _, checksum = data.decode("ascii", "replace").rstrip().rpartition(" ")
    if f"{zlib.crc32(text.encode()):08x}" != checksum:
        return None
    match text.split(" "):
        case [magic, journal_id, generation, number, opening] if magic == _MAGIC:
            return Head(journal_id, int(generation), int(number), opening)
    return None


class HeadFile:
    """One copy."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._written = b""
        self._ours: tuple[bytes, ...] = ()
        """What we may have left there: noted before it is written, since the thread may die in between."""

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    def read(self) -> Head | None:
        """What stands there; None where it is missing or cannot be read."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            return decode(os.pread(file, SIZE, 0))
        except OSError:
            return None
        finally:
            os.close(file)

    def write(self, data: bytes) -> bool:
        """Rewrite it in place. Made and synced if it is new; answers whether it was written."""
        try:
            if self._file is None:
                self._open(data)
            else:
                self._ours = self._written, data
                os.pwrite(self._file, data, 0)
        except OSError:
            self.let_go()
            return False
        self._written = data
        self._ours = (data,)
        return True

    def holds(self, data: bytes) -> bool:
        return self._file is not None and self._written == data

    def is_overwritten(self) -> bool:
        """Somebody else wrote into the file that is open here."""
        if self._file is None:
            return False
        with suppress(OSError):
            return os.pread(self._file, SIZE + 1, 0) not in self._ours
        return False

    def is_moved(self) -> bool:
        """The file that is open here lies no longer at its place."""
        if self._file is None:
            return True
        try:
            return not os.path.samestat(os.fstat(self._file), self.path.lstat())
        except OSError:
            return True

    def sync(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.fdatasync(self._file)

    def let_go(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _open(self, data: bytes) -> None:
        is_new = not self.exists()
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.pwrite(file, data, 0)
            os.ftruncate(file, SIZE)
            os.fsync(file)
            if is_new:
                sync(self.path.parent)
        except BaseException:
            os.close(file)
            raise
        self._ours = (data,)
        self._file = file


class Heads:
    """All copies of one journal. Used by the thread that writes the journal, and while it is opened and closed."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._copies = [HeadFile(path) for path in paths]
        self._turn = itertools.cycle(self._copies)
        self.newest: Head | None = None
        self.is_kept = False
        """At least one copy is written and synced to its place."""

    def found(self) -> list[Head]:
        heads = [head for copy in self._copies if (head := copy.read()) is not None]
        self.is_kept = bool(heads)
        return heads

    def remove(self) -> None:
        """The journal that they speak of is gone."""
        self.is_kept = False
        for copy in self._copies:
            with suppress(OSError):
                copy.path.unlink()

    def all_missing(self) -> bool:
        """No copy exists. One that exists and cannot be read may be torn by a power cut: that proves nothing."""
        return not any(copy.exists() for copy in self._copies)

    def keep(self) -> None:
        """Bring every copy up to date, and make again what was removed or replaced meanwhile."""
        if self.newest is None:
            return
        data = self.newest.encode()
        for copy in self._copies:
            if copy.is_moved():
                copy.let_go()
            if not copy.holds(data):
                self.is_kept |= copy.write(data)

    def is_overwritten(self, *, whole: bool) -> bool:
        """Whether somebody else wrote into a copy: `whole` asks all of them, else the next one in turn."""
        if whole:
            return any([copy.is_overwritten() for copy in self._copies])
        return next(self._turn).is_overwritten()

    def insist(self) -> None:
        """Say once more, at every place, how far the journal had come: it was put back, and the next opening must see it."""
        for copy in self._copies:
            copy.let_go()
        self.keep()
        for copy in self._copies:
            copy.let_go()

    def close(self) -> None:
        """The last word, synced."""
        self.keep()
        for copy in self._copies:
            copy.sync()
            copy.let_go()
