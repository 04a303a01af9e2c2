"""Private, verified safety copies of a journal in `backups/` beside it: made whole or not at all.

A backup is a folder with the database, the large bodies, and a manifest that is written last. It is made beside a
running writer, looked through from end to end, and only then gets its name. Putting one back is restore.py's.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .clock import Clock
from .digests import of_file
from .errors import BackupDamaged, JournalError, StoreLocked, UnknownBackup
from .ids import Ids
from .store import copying
from .store.bodies import Bodies, in_our_words, sync, write_whole
from .store.ownership import OwnerLock

KEEP = 5
FORMAT = 1
FOLDER = "backups"
DATABASE = "journal.db"
MANIFEST = "manifest.json"
_MAKING = "making-"


def no_step() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. `damaged` are bodies that were not readable in the journal itself when it was made."""

    format: int
    journal_id: str
    schema: int
    made_at: int
    database: str
    """SHA-256 of the database file."""
    bytes: int
    counts: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Backup:
    """One entry of the list; without a manifest `problem` says why it cannot be used."""

    name: str
    path: Path
    manifest: Manifest | None
    problem: str = ""


# -- making -------------------------------------------------------------------------------------


def make(
    journal: Path, *, keep: int = KEEP, clock: Clock | None = None, ids: Ids | None = None, step: Callable[[], None] = no_step
) -> Backup:
    """Copy the journal in this folder, verify the copy, and let the oldest beyond `keep` go.

    `step` is called between small parts of the work and may raise to stop; then nothing of it is left.
    """
    if keep < 1:
        raise ValueError("At least one backup is kept.")
    clock = clock or Clock()
    now = clock.now()
    name = f"{stamp(now)}-{(ids or Ids(clock)).new('b')[-6:]}"
    with alone(journal):
        folder = journal / FOLDER
        _remove_unfinished(folder)
        making = _private(folder / f"{_MAKING}{name}")
        try:
            manifest = _fill(journal, making, now, step)
            with in_our_words():
                making.rename(folder / name)
                sync(folder)
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
        _prune(folder, keep)
    return Backup(name, folder / name, manifest)


@contextmanager
def alone(journal: Path) -> Iterator[None]:
    """Nobody else makes a backup meanwhile, nor removes files that one would still copy: in this process or another."""
    folder = _private(journal / FOLDER)
    try:
        lock = OwnerLock(folder / ".lock")
    except StoreLocked as error:
        raise StoreLocked("It makes a backup, or removes old records. Try again in a minute.") from error
    try:
        yield
    finally:
        lock.release()


def _fill(journal: Path, making: Path, now: int, step: Callable[[], None]) -> Manifest:
    database = making / DATABASE
    copying.copy_database(journal / DATABASE, database, step)
    found = copying.contents(database)
    earlier = next((each.path for each in list_all(journal) if each.manifest), None)
    damaged = copying.damaged_bodies(database, step)
    for digest in found.files:
        step()
        if not _take(digest, earlier, journal, making):
            damaged.add(digest)
    with in_our_words():
        sync_tree(making)
        manifest = Manifest(
            format=FORMAT,
            journal_id=found.journal_id,
            schema=found.schema,
            made_at=now,
            database=of_file(database),
            bytes=database.stat().st_size + sum(found.files.values()),
            counts=found.counts,
            files=found.files,
            damaged=sorted(damaged),
        )
        write_whole(making / MANIFEST, json.dumps(asdict(manifest), indent=1, sort_keys=True).encode())
        sync(making)
    return manifest


def _take(digest: str, earlier: Path | None, journal: Path, making: Path) -> bool:
    """Take a body over; answers whether it is what was written.

    Backups share files among each other, but none with the journal: what damages one in its place would damage both.
    """
    target = Bodies(making).path(digest)
    if earlier is not None and copying.link_file(Bodies(earlier).path(digest), target):
        if copying.is_sound(target):
            return True
        target.unlink()
    copying.copy_file(Bodies(journal).path(digest), target)
    return copying.is_sound(target)


def sync_tree(folder: Path) -> None:
    """Make folders durable; what lies in them was synced when it was made."""
    for path, _, _ in os.walk(folder, topdown=False):
        sync(Path(path))


def _private(folder: Path) -> Path:
    with in_our_words():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    return folder


def _remove_unfinished(folder: Path) -> None:
    """What a process left that died while it made one. We have the lock, so nobody is making it."""
    for leftover in folder.glob(f"{_MAKING}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _prune(folder: Path, keep: int) -> None:
    whole = [backup for backup in list_all(folder.parent) if backup.manifest is not None]
    for old in whole[keep:]:
        gone = folder / f"{_MAKING}{old.name}"  # renamed first: half a backup never has the name of one
        with in_our_words():
            old.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


# -- looking ------------------------------------------------------------------------------------


def list_all(journal: Path) -> list[Backup]:
    """All backups, the newest first; what lies there and is none is listed last, with the reason."""
    found = []
    for path in _folders_in(journal / FOLDER):
        try:
            found.append(Backup(path.name, path, _manifest(path)))
        except JournalError as error:
            found.append(Backup(path.name, path, None, str(error)))
    return sorted(found, key=_age)


def _folders_in(folder: Path) -> list[Path]:
    with in_our_words():
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        return [path for path in found if path.is_dir() and not path.name.startswith(_MAKING)]


def _age(each: Backup) -> tuple[bool, int, str]:
    return each.manifest is None, -each.manifest.made_at if each.manifest else 0, each.name


def find(journal: Path, name: str) -> Path:
    path = journal / FOLDER / name
    if name != Path(name).name or name.startswith((_MAKING, ".")) or not path.is_dir():
        raise UnknownBackup(name)
    return path


def verify(path: Path, *, step: Callable[[], None] = no_step) -> Manifest:
    """Look through a backup from end to end. Raises BackupDamaged, or JournalNewer if a later edition made it."""
    manifest = _manifest(path)
    database = path / DATABASE
    if not database.is_file() or of_file(database) != manifest.database:
        raise BackupDamaged(str(path), "Its database is not what was written.")
    damaged = copying.damaged_bodies(database, step)
    for digest in manifest.files:
        step()
        if not copying.is_sound(Bodies(path).path(digest)):
            damaged.add(digest)
    if worse := damaged - set(manifest.damaged):
        raise BackupDamaged(str(path), f"{len(worse)} of its saved values are not what was written.")
    return manifest


def _manifest(path: Path) -> Manifest:
    try:
        said: dict[str, Any] = json.loads((path / MANIFEST).read_bytes())
        if said["format"] != FORMAT:
            raise BackupDamaged(str(path), "Another version made it.")
        return Manifest(**said)
    except FileNotFoundError as error:
        raise BackupDamaged(str(path), "It has no manifest.") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupDamaged(str(path), "Its manifest cannot be read.") from error


def stamp(now: int) -> str:
    """A moment as part of a file name."""
    return datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
