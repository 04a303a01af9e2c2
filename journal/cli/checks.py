"""Commands that look for trouble: verify reads everything, preflight and doctor say what stands in the way."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import doctor
from ..doctor import Finding
from ..errors import NotAllowed
from ..verify import Progress, verify
from .known import masker
from .looking import look
from .output import Output

_MOST_SHOWN = 20


def add_to(commands: Any, common: argparse.ArgumentParser) -> None:
    everything = commands.add_parser("verify", parents=[common], help="read every record and say what is not what was written")
    everything.set_defaults(command=verify_journal)
    preflight = commands.add_parser("preflight", parents=[common], help="can a journal work here, and is the host the reviewed one")
    preflight.add_argument("--host", help="the host's folder; found by itself where the plugin is installed")
    preflight.set_defaults(command=show_preflight)
    whole = commands.add_parser("doctor", parents=[common], help="preflight, the journal's state, and a full verification")
    whole.add_argument("--host", help="the host's folder; found by itself where the plugin is installed")
    whole.set_defaults(command=show_doctor)


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
    return _print([*doctor.machine(), *doctor.place(asked.folder), *_host(asked)], out)


def show_doctor(asked: argparse.Namespace, out: Output) -> bool:
    return _print([*doctor.machine(), *doctor.place(asked.folder), *_host(asked), *_journal(asked, out)], out)


def _print(findings: list[Finding], out: Output) -> bool:
    out.document({"findings": [{"what": f.what, "ok": f.ok, "text": f.text} for f in findings]})
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        out.line(f"{'ok' if finding.ok else '! '}  {finding.what.ljust(width)}  {finding.text}")
    wrong = sum(not finding.ok for finding in findings)
    out.line("\nNothing is wrong." if not wrong else f"\n{wrong} of {len(findings)} need a person.")
    return bool(wrong)


def _host(asked: argparse.Namespace) -> Iterator[Finding]:
    plugin = Path(__file__).resolve().parent.parent.parent
    inside = plugin.parent.name == "plugins" and plugin.parent.parent.name == "usr"
    if not asked.host and not inside:
        yield Finding("host files", True, "not looked at: this is no installed plugin (--host=FOLDER)")
        return
    root = Path(asked.host) if asked.host else plugin.parent.parent.parent
    if not root.is_dir():
        raise NotAllowed(f"{root} is no folder.")
    yield from doctor.host(root, plugin)


def _journal(asked: argparse.Namespace, out: Output) -> Iterator[Finding]:
    known = list(doctor.journal(asked.folder, masker(asked)))
    yield from known
    if [finding for finding in known if finding.what == "backups"]:
        yield doctor.of_records(list(_faults(asked.folder, out)))
