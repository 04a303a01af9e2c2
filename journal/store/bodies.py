"""Large bodies as files beside the journal: durable before a record names them, the same content once.

In a record a stub stands for such a body. A file is made whole under another name, synced, renamed, and never
changed. What is in flight cannot be removed; nothing here decides what is garbage.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import JournalError, StoreFull, StoreLost

LARGE = 256 * 1024
STUB = b"\x00file:"  # no encoded value and no list part begins with it
_STUB = re.compile(rb"\x00file:([0-9a-f]{64}):\d{1,19}")
_NAME = re.compile(r"[0-9a-f]{64}")
_NEW = ".new"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_OURS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR}
"""Says nothing about the file: this process is short of something."""


@dataclass(slots=True)
class _Entry:
    """One body in flight: from before it is looked for until the operation that names it has ended."""

    data: bytes
    users: int = 0
    durable: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Kept:
    """Bodies that are durable as files, with the stubs that name them. Release it when the operation has ended."""

    def __init__(self, stubs: Mapping[str, bytes], release: Callable[[], None]) -> None:
        self.stubs = stubs
        self.release = release


NOTHING_KEPT = Kept({}, lambda: None)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file in the folder, as a collection sees it; `digest` is empty for one that was never finished."""

    path: Path
    digest: str
    size: int
    changed_at: int


class Bodies:
    """The folder `blobs` of one journal."""

    def __init__(self, journal_folder: Path) -> None:
        self.folder = journal_folder / "blobs"
        self._lock = threading.Lock()
        self._flying: dict[str, _Entry] = {}

    def path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest

    # -- keeping --------------------------------------------------------------------------------

    def keep(self, bodies: Iterable[tuple[str, bytes]]) -> Kept:
        """Make large ones durable, in the caller's thread. Raises StoreFull or StoreLost, and then keeps none."""
        large = {digest: data for digest, data in bodies if len(data) > LARGE}
        if not large:
            return NOTHING_KEPT
        taken: list[str] = []

        def release() -> None:
            with self._lock:
                while taken:
                    self._leave(taken.pop())

        try:
            for digest, data in large.items():
                entry = self._enter(digest, data)
                taken.append(digest)
                with entry.lock:
                    if not entry.durable:
                        self._make_durable(digest, data)
                        entry.durable = True
        except OSError as error:
            release()
            raise _translated(error) from error
        return Kept({digest: b"%s%s:%d" % (STUB, digest.encode(), len(data)) for digest, data in large.items()}, release)

    def _enter(self, digest: str, data: bytes) -> _Entry:
        with self._lock:
            entry = self._flying.setdefault(digest, _Entry(data))
            entry.users += 1
            return entry

    def _leave(self, digest: str) -> None:
        entry = self._flying[digest]
        entry.users -= 1
        if not entry.users:
            del self._flying[digest]

    def _make_durable(self, digest: str, data: bytes) -> None:
        path = self.path(digest)
        if not path.parent.is_dir():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            sync(self.folder.parent)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            sync(self.folder)
        if not _holds(path, data):
            write_whole(path, data)
        sync(path.parent)  # also of a file that was there: a crash may have come before this line

    # -- reading --------------------------------------------------------------------------------

    def read(self, stub: bytes) -> bytes | None:
        """The body that a stub names; None if it cannot be had. Whoever decodes it compares the digest."""
        found = _STUB.fullmatch(stub)
        if found is None:
            return None
        digest = found[1].decode()
        entry = self._flying.get(digest)
        if entry is not None:
            return entry.data
        try:
            return read_whole(self.path(digest))
        except OSError as error:
            if error.errno in _OURS:
                raise StoreLost(f"A saved file cannot be opened: {error.strerror}.") from error
            return None

    # -- removing -------------------------------------------------------------------------------

    def leftovers(self) -> Iterator[Leftover]:
        """Every file, whether or not a record names it."""
        for folder in sorted(self.folder.glob("[0-9a-f][0-9a-f]")):
            for path in sorted(folder.iterdir()):
                name = path.name
                if _NAME.fullmatch(name) or name.endswith(_NEW):
                    try:
                        status = path.lstat()
                    except FileNotFoundError:
                        continue
                    yield Leftover(path, "" if name.endswith(_NEW) else name, status.st_size, status.st_mtime_ns // 1_000_000)

    def remove(self, leftover: Leftover, is_named: Callable[[str], bool]) -> int:
        """Remove a file unless an operation in flight or a record names it, looked at last; answers the bytes."""
        digest = leftover.digest or leftover.path.name.removesuffix(_NEW)
        with self._lock:  # nobody begins to name it meanwhile, and what was named before is in the records by now
            if digest in self._flying or (leftover.digest and is_named(digest)):
                return 0
            try:
                leftover.path.unlink()
            except FileNotFoundError:
                return 0
            except OSError as error:
                raise _translated(error) from error
        return leftover.size

    def of(self, digest: str) -> Leftover | None:
        """The file of a body, if there is one."""
        path = self.path(digest)
        try:
            status = path.lstat()
        except OSError:
            return None
        return Leftover(path, digest, status.st_size, status.st_mtime_ns // 1_000_000)


# -- files that are whole or not there ----------------------------------------------------------


def write_whole(path: Path, data: bytes) -> None:
    """Make a private file whole under another name, sync it, give it its name. The folder is the caller's to sync."""
    new = path.with_name(path.name + _NEW)
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
            os.fsync(file)
        finally:
            os.close(file)
        new.rename(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def read_whole(path: Path) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(file, "rb") as stream:  # noqa: PTH123 - a descriptor, not a path
        return stream.read()


def sync(path: Path) -> None:
    """Make what stands in a file or a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _holds(path: Path, data: bytes) -> bool:
    """Whether the file says exactly this; one that was damaged since is written again."""
    try:
        return path.lstat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False


@contextmanager
def in_our_words() -> Iterator[None]:
    """Errors of the disk as the journal's own."""
    try:
        yield
    except OSError as error:
        raise _translated(error) from error


def _translated(error: OSError) -> JournalError:
    where = f"{Path(error.filename).name}: " if isinstance(error.filename, str) else ""
    return StoreFull() if error.errno in _FULL else StoreLost(f"{where}{error.strerror}.")
