"""What a person sees and does about the journal itself: one line of health, what it takes, backups, the doctor.

Looks, and hands work to the engine. Putting a backup back goes through `lifecycle`: nothing may be in force meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..journal import backup, doctor, restore
from ..journal.backup import Backup
from ..journal.doctor import Finding
from ..journal.errors import JournalError
from ..journal.verify import Progress
from . import paths

if TYPE_CHECKING:
    from .activation import Activation

_STOP_S = 10.0


class Checkup:
    """One run of the doctor, in a thread of its own: reading every record takes as long as it takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._view: dict[str, Any] = {"state": "none", "at": None, "part": "", "done": 0, "total": 0, "findings": []}

    def start(self, active: Activation) -> None:
        """Begin one, unless one is under way."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._view = {**self._view, "state": "running", "part": "", "done": 0, "total": 0}
            self._thread = threading.Thread(target=self._run, args=(active,), name="durable-doctor", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End it before the files that it reads are moved."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_S)

    def view(self) -> dict[str, Any]:
        return dict(self._view)

    def _run(self, active: Activation) -> None:
        found: list[Finding] = []
        try:
            found += [*doctor.machine(), *doctor.place(paths.data_folder()), *doctor.host(paths.host_root(), paths.ROOT)]
            found += doctor.journal(paths.data_folder(), active.journal.masker)
            found.append(doctor.of_records(list(doctor.records(paths.data_folder(), self._step))))
        except _Stopped:
            self._view = {**self._view, "state": "none"}
            return
        except Exception as error:  # a check that cannot be made is a finding, too
            found.append(Finding("doctor", False, f"This could not be looked at ({type(error).__name__})."))
        shown = [{"what": each.what, "ok": each.ok, "text": active.journal.masker.text(each.text)} for each in found]
        self._view = {"state": "done", "at": active.journal.clock.now(), "part": "", "done": 0, "total": 0, "findings": shown}

    def _step(self, progress: Progress) -> None:
        if self._stop.is_set():
            raise _Stopped
        self._view = {**self._view, "part": progress.part, "done": progress.done, "total": progress.total}


class _Stopped(Exception):
    """Nobody waits for this look any more."""


def view(active: Activation, status: dict[str, Any]) -> dict[str, Any]:
    """Everything that the settings page shows besides the settings."""
    copies = backup.list_all(paths.data_folder())
    used = _used(paths.data_folder())
    checkup = active.checkup.view()
    return {
        "health": _health(status, copies, checkup),
        "backend": status["backend"],
        "schema": status["schema"],
        "version": status["version"],
        "host": status["host"],
        "adapters": sorted({entry.label for entry in active.undo.entries}),
        "folder": str(paths.data_folder()),
        "storage": used,
        "runs": status["counts"].get("all", 0),
        "backups": [_shown(each) for each in copies],
        "doctor": checkup,
    }


def newest() -> str | None:
    """Where the newest backup that can be used lies, for a person whose saved state cannot be read."""
    try:
        copies = backup.list_all(paths.data_folder())
    except JournalError:
        return None  # the same disk may be failing: a hint that cannot be given must not take the run's page away
    usable = [each for each in copies if each.manifest is not None and not each.problem]
    return str(usable[0].path) if usable else None


def _health(status: dict[str, Any], copies: list[Backup], checkup: dict[str, Any]) -> dict[str, str]:
    """One line that a person understands; the worst of what is known."""
    for problem in _stopped(status):
        return {"level": "stopped", "text": problem}
    for problem in _attention(status, copies, checkup):
        return {"level": "attention", "text": problem}
    held = status["holds"]
    waits = f" {held} {'run waits' if held == 1 else 'runs wait'} for your decision." if held else " Nothing waits for you."
    return {"level": "ok", "text": f"New work is recorded and can go on after a restart.{waits}"}


def _stopped(status: dict[str, Any]) -> Iterator[str]:
    if status["store_problem"]:
        yield f"The journal cannot be written right now, so recorded chats wait. {status['store_problem']}"
    if status["restart_needed"]:
        yield "Agent Zero must restart before new work is recorded."


def _attention(status: dict[str, Any], copies: list[Backup], checkup: dict[str, Any]) -> Iterator[str]:
    if status["masking_problem"]:
        yield f"Work is recorded, but new secrets may be written down as they are. {status['masking_problem']}"
    if status["restored"]:
        yield f"Work is recorded. {status['restored']}"
    if any(status["changed"].values()):
        yield "Work is recorded, but files changed while Agent Zero runs. The start page says which."
    wrong = [each for each in checkup["findings"] if not each["ok"] and each["what"] != "held runs"]
    if wrong:
        yield f"Work is recorded, but the last look found something: {wrong[0]['what']}, {wrong[0]['text']}."
    if any(each.problem for each in copies):
        yield "Work is recorded, but a backup cannot be used. The list below says which."


def _used(folder: Path) -> dict[str, int]:
    """Bytes by part. Backups share unchanged files among each other: each file counts once."""
    parts = {"journal": 0, "bodies": 0, "backups": 0, "replaced": 0}
    seen: set[tuple[int, int]] = set()
    for path in folder.rglob("*"):
        try:
            known = path.lstat()
        except OSError:
            continue  # a running journal makes and removes files meanwhile
        if not path.is_file() or (known.st_dev, known.st_ino) in seen:
            continue
        seen.add((known.st_dev, known.st_ino))
        parts[_part(path.relative_to(folder).parts[0])] += known.st_size
    return {**parts, "total": sum(parts.values())}


def _part(top: str) -> str:
    if top.startswith(restore.ASIDE):
        return "replaced"
    return {backup.FOLDER: "backups", "blobs": "bodies"}.get(top, "journal")


def _shown(each: Backup) -> dict[str, Any]:
    known = each.manifest
    facts = {"made_at": known.made_at, "bytes": known.bytes, "runs": known.counts.get("runs", 0)} if known else {}
    return {"name": each.name, "problem": each.problem, "made_at": None, "bytes": None, "runs": None, **facts}


def make(active: Activation) -> str:
    """A verified copy, beside running writes; the name under which it is listed."""
    return active.journal.backup().name


def verify(name: str) -> dict[str, Any]:
    """Read a backup from end to end; a damaged one is an answer, not a fault."""
    try:
        backup.verify(backup.find(paths.data_folder(), name))
    except JournalError as error:
        if error.code != "backup_damaged":
            raise
        return {"name": name, "ok": False, "text": str(error)}
    return {"name": name, "ok": True, "text": "Every part of it is what was written."}
