"""Commands that look for trouble: verify reads everything, preflight and doctor say what stands in the way."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import backup
from ..accepted import closest
from ..errors import JournalError, NotAllowed
from ..look import Look
from ..store import connections, filesystems
from ..verify import Progress, verify
from .known import masker
from .looking import look
from .output import Output, moment, size

_ENOUGH = 64 * 1024 * 1024
_OLDEST_PYTHON = (3, 12)
_OLDEST_SQLITE = (3, 40)
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `ok` False needs a person, and `text` says what to do."""

    what: str
    ok: bool
    text: str


def add_to(commands: Any, common: argparse.ArgumentParser) -> None:
    everything = commands.add_parser("verify", parents=[common], help="read every record and say what is not what was written")
    everything.set_defaults(command=verify_journal)
    preflight = commands.add_parser("preflight", parents=[common], help="can a journal work here, and is the host the reviewed one")
    preflight.add_argument("--host", help="the host's folder; found by itself where the plugin is installed")
    preflight.set_defaults(command=show_preflight)
    doctor = commands.add_parser("doctor", parents=[common], help="preflight, the journal's state, and a full verification")
    doctor.add_argument("--host", help="the host's folder; found by itself where the plugin is installed")
    doctor.set_defaults(command=show_doctor)


def verify_journal(asked: argparse.Namespace, out: Output) -> bool:
    look(asked, out)
    faults = list(_faults(asked.folder, out))
    out.document({"faults": faults})
    for fault in faults[:_MOST_SHOWN]:
        out.line(fault)
    if len(faults) > _MOST_SHOWN:
        out.line(f"… and {len(faults) - _MOST_SHOWN} more.")
    out.line("Everything is what was written." if not faults else "Nothing was repaired. Runs with such a record stay on hold.")
    return bool(faults)


def _faults(folder: Path, out: Output) -> Iterator[str]:
    last: Progress | None = None
    for step in verify(folder):
        if last is not None and last.part != step.part:
            out.say(f"{last.part}: {last.done} of {last.total}")
        last = step
        yield from step.faults
    if last is not None:
        out.say(f"{last.part}: {last.done} of {last.total}")


def show_preflight(asked: argparse.Namespace, out: Output) -> bool:
    return _print([*_machine(), *_place(asked.folder), *_host(asked)], out)


def show_doctor(asked: argparse.Namespace, out: Output) -> bool:
    return _print([*_machine(), *_place(asked.folder), *_host(asked), *_journal(asked, out)], out)


def _print(findings: list[Finding], out: Output) -> bool:
    out.document({"findings": [{"what": f.what, "ok": f.ok, "text": f.text} for f in findings]})
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        out.line(f"{'ok' if finding.ok else '! '}  {finding.what.ljust(width)}  {finding.text}")
    wrong = sum(not finding.ok for finding in findings)
    out.line("\nNothing is wrong." if not wrong else f"\n{wrong} of {len(findings)} need a person.")
    return bool(wrong)


def _machine() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", sys.version_info >= _OLDEST_PYTHON, f"{python} (3.12 or newer is needed)")
    yield Finding("SQLite", connections.SQLITE >= _OLDEST_SQLITE, f"{'.'.join(map(str, connections.SQLITE))} (3.40 or newer is needed)")


def _place(folder: Path) -> Iterator[Finding]:
    there = next((part for part in (folder, *folder.parents) if part.exists()), Path("/"))
    place = filesystems.place_of(there)
    try:
        safe = place.mode is filesystems.Mode.WAL
        text = f"{place.kind or 'unknown'}, {'safe' if safe else 'works without a write-ahead log, slower'}"
        yield Finding("file system", True, " ".join([text, *place.notes]))
    except JournalError as error:
        yield Finding("file system", False, str(error))
    free = shutil.disk_usage(there).free
    yield Finding("free space", free >= _ENOUGH, f"{size(free)} (at least {size(_ENOUGH)} should be free)")
    if not folder.exists():
        yield Finding("folder", True, f"{folder} does not exist yet")
        return
    open_to_others = list(_open_to_others(folder))
    told = "readable by their owner alone" if not open_to_others else f"others can read {', '.join(open_to_others[:5])}: chmod go= them"
    yield Finding("private files", not open_to_others, told)


def _open_to_others(folder: Path) -> Iterator[str]:
    """Names in the folder that others may read. A running server makes and removes files meanwhile: what is gone is private."""
    inside = (Path(parent, name) for parent, folders, files in os.walk(folder) for name in (*folders, *files))
    for path in (folder, *inside):
        with suppress(FileNotFoundError):
            if stat.S_IMODE(path.lstat().st_mode) & 0o077:
                yield path.name


def _host(asked: argparse.Namespace) -> Iterator[Finding]:
    """Whether the host's files are those that were reviewed: by their bytes; what a server has loaded is not seen here."""
    plugin = Path(__file__).resolve().parent.parent.parent
    inside = plugin.parent.name == "plugins" and plugin.parent.parent.name == "usr"
    if not asked.host and not inside:
        yield Finding("host files", True, "not looked at: this is no installed plugin (--host=FOLDER)")
        return
    root = Path(asked.host) if asked.host else plugin.parent.parent.parent
    if not root.is_dir():
        raise NotAllowed(f"{root} is no folder.")
    pins = json.loads((plugin / "UPSTREAM.json").read_text(encoding="utf-8"))["hosts"]
    match = closest(root, pins)
    if not match.changed:
        yield Finding("host files", True, f"as reviewed, {match.label}")
        return
    names = ", ".join(match.changed[:5]) + (" …" if len(match.changed) > 5 else "")
    yield Finding("host files", False, f"{len(match.changed)} differ from {match.label}: {names}. Update the plugin or restore them.")


def _journal(asked: argparse.Namespace, out: Output) -> Iterator[Finding]:
    folder: Path = asked.folder
    try:
        facts = Look(folder, masker=masker(asked)).status()
    except JournalError as error:
        yield Finding("journal", False, str(error))
        return
    counts = facts["counts"] or {}
    yield Finding("journal", not facts["newer"], f"schema {facts['schema']}, {'in use' if facts['owned'] else 'not in use'}")
    held = counts.get("needs_you", 0)
    yield Finding("held runs", not held, f"{held} wait for your decision" if held else "none")
    copies = backup.list_all(folder)
    whole = [each.manifest for each in copies if each.manifest is not None]
    told = f"{len(whole)}, the newest of {moment(whole[0].made_at)} UTC" if whole else "none yet: python -m journal backup"
    yield Finding("backups", len(whole) == len(copies), told if len(whole) == len(copies) else f"{len(copies) - len(whole)} cannot be used")
    faults = list(_faults(folder, out))
    yield Finding("records", not faults, f"{len(faults)} not as written: python -m journal verify" if faults else "all as written")
