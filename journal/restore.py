"""Puts a backup in the journal's place: only while nobody owns it, and without deleting what is there.

The backup is verified first and the new journal built beside the present one, with every unfinished run on hold. The
present one is then moved aside whole. Whatever ends the process on the way, the journal is the old one or the new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import backup, codec, restoring
from .clock import Clock
from .ids import Ids
from .scribe import Scribe
from .store import copying, heads, lineage, switching
from .store.base import Restored, Transaction
from .store.bodies import Bodies, in_our_words, sync
from .store.files import Files
from .store.heads import Head, Heads
from .store.ownership import OwnerLock
from .store.sqlite import SqliteStore

ASIDE = "journal.before-restore-"
"""How the folder begins in which a restore leaves the journal that it replaced. Nothing here removes it: it is a person's."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """What was put back, where the former journal lies now, and how many runs wait for a person."""

    backup: str
    aside: Path
    held: int


def restore(
    folder: Path,
    name: str,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    other_heads: Iterable[Path] = (),
    step: Callable[[], None] = backup.no_step,
) -> Restoration:
    """Put a backup in the place of the journal in this folder, whose head files also lie at `other_heads`.

    Raises StoreLocked while it is in use, UnknownBackup, BackupDamaged, StoreFull; then nothing was changed.
    """
    clock = clock or Clock()
    Files(folder).make_folder()
    lock = OwnerLock(folder / "journal.lock")
    fresh = folder / switching.FRESH
    try:
        switching.finish(folder)  # an earlier one that was cut off
        try:
            source = backup.find(folder, name)
            manifest = backup.verify(source, step=step)
            _build(source, fresh, manifest, step)
            known = Heads([folder / heads.NAME, *other_heads]).found()
            held = mark_restored(fresh, clock, ids or Ids(clock), name, known)
            aside = _free_name(folder, clock.now())
            switching.begin(folder, fresh, aside)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        switching.finish(folder)
    finally:
        lock.release()
    return Restoration(name, aside, held)


def _build(source: Path, fresh: Path, manifest: backup.Manifest, step: Callable[[], None]) -> None:
    with in_our_words():
        fresh.mkdir(mode=0o700)
        (fresh / "blobs").mkdir(mode=0o700)
        shutil.copyfile(source / backup.DATABASE, fresh / backup.DATABASE)
        (fresh / backup.DATABASE).chmod(0o600)
        sync(fresh / backup.DATABASE)
    for digest in manifest.files:
        step()
        copying.copy_file(Bodies(source).path(digest), Bodies(fresh).path(digest))
    with in_our_words():
        backup.sync_tree(fresh)


def mark_restored(fresh: Path, clock: Clock, ids: Ids, name: str, known_heads: Sequence[Head] = ()) -> int:
    """The last step before the switch: a generation begins, and what was unfinished waits for a person.

    What the head files say now is settled with it: else the next opening would find the same restore once more.
    """
    boot_id = ids.new("boot")
    store = SqliteStore(fresh, clock.now(), opening=boot_id)

    def begin(tx: Transaction) -> int:
        scribe = Scribe(tx, clock.now(), boot_id, ids)
        tx.change("add_boot", boot_id=boot_id, now=scribe.now, facts=codec.encode({"restored": name}))
        known = lineage.identity(tx)
        restoring.begin(scribe, Restored("rolled_back", known.generation + 1, known.number, None), known_heads)
        tx.change("end_boot", boot_id=boot_id, now=scribe.now)
        return len(tx.all("unfinished_runs"))

    try:
        return store.submit(begin).result()
    finally:
        store.close()


def _free_name(folder: Path, now: int) -> Path:
    first = folder / f"{ASIDE}{backup.stamp(now)}"
    number, free = 2, first
    while free.exists():
        free = first.with_name(f"{first.name}-{number}")
        number += 1
    return free
