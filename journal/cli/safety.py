"""Commands that keep the journal safe and small: backups, putting one back, removing what is old."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .. import backup, restore
from ..errors import NotAllowed
from ..retention import Policy
from ..store.heads import elsewhere
from .output import Output, agreed, moment, size
from .owning import own

_DEFAULT = Policy()


def add_to(commands: Any, common: argparse.ArgumentParser) -> None:
    make = commands.add_parser("backup", parents=[common], help="make a verified copy, beside a running server too")
    make.add_argument("--keep", type=int, default=backup.KEEP, metavar="N", help=f"the newest N stay ({backup.KEEP})")
    make.set_defaults(command=make_backup)
    listing = commands.add_parser("backups", parents=[common], help="the backups that there are")
    listing.set_defaults(command=show_backups)
    put_back = commands.add_parser("restore", parents=[common], help="put a backup back (while no server runs); nothing is deleted")
    put_back.add_argument("name", help="as `backups` shows it")
    put_back.add_argument("--yes", action="store_true", help="do not ask")
    put_back.set_defaults(command=restore_backup)
    prune = commands.add_parser("prune", parents=[common], help="remove old finished runs (while no server runs)")
    prune.add_argument("--runs", type=int, default=_DEFAULT.runs, metavar="N", help=f"the newest N finished runs stay ({_DEFAULT.runs})")
    prune.add_argument("--days", type=int, default=_DEFAULT.days, metavar="N", help=f"so do those of the last N days ({_DEFAULT.days})")
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")
    prune.set_defaults(command=prune_journal)


def make_backup(asked: argparse.Namespace, out: Output) -> bool:
    if asked.keep < 1:
        raise NotAllowed("--keep must be 1 or more.")
    out.say("Copying and verifying; nothing is locked.")
    made = backup.make(asked.folder, keep=asked.keep)
    damaged = made.manifest.damaged if made.manifest else []
    out.document({"name": made.name, "path": str(made.path), "bytes": made.manifest.bytes if made.manifest else 0, "damaged": damaged})
    out.line(f"{made.name}  {size(made.manifest.bytes) if made.manifest else '–'}  verified")
    if damaged:
        out.line(f"{len(damaged)} records were not readable in the journal itself: python -m journal verify")
    return bool(damaged)


def show_backups(asked: argparse.Namespace, out: Output) -> bool:
    found = backup.list_all(asked.folder)
    rows = []
    for each in found:
        known = each.manifest
        rows.append((each.name, moment(known.made_at) if known else "–", size(known.bytes) if known else "–", each.problem or "whole"))
    names = ("name", "made_at", "size", "state")
    out.document({"backups": [dict(zip(names, row, strict=True)) for row in rows]})
    if rows:
        out.table(("NAME", "MADE (UTC)", "SIZE", "STATE"), rows)
    else:
        out.line("There is no backup.")
    return any(each.problem for each in found)


def restore_backup(asked: argparse.Namespace, out: Output) -> bool:
    out.line(f"The journal in {asked.folder} is put back to {asked.name}.")
    out.line("What was recorded since is moved aside whole, nothing is deleted. Every unfinished run then waits for your decision.")
    if not (asked.yes or (sys.stdin.isatty() and agreed("Type yes to go on: "))):
        raise NotAllowed("Nothing was changed. Type yes to agree, or use --yes.")
    done = restore.restore(asked.folder, asked.name, other_heads=elsewhere(asked.folder))
    out.document({"backup": done.backup, "aside": str(done.aside), "held": done.held})
    out.line(f"Done. The former journal lies in {done.aside}. {done.held} runs wait for a decision.")
    return bool(done.held)


def prune_journal(asked: argparse.Namespace, out: Output) -> bool:
    if asked.runs < 1 or asked.days < 0:
        raise NotAllowed("--runs must be 1 or more, --days 0 or more.")
    journal = own(asked, out)
    try:
        policy = Policy(runs=asked.runs, days=asked.days)
        gone = journal.plan(policy) if asked.dry_run else journal.prune(policy)
    finally:
        journal.close()
    facts = {name: getattr(gone, name) for name in ("runs", "checkpoints", "bodies", "nodes", "files", "bytes", "complete", "problem")}
    out.document({"dry_run": asked.dry_run, **facts})
    out.line("Would go:" if asked.dry_run else "Removed:")
    out.facts([(name, size(value) if name == "bytes" else value) for name, value in facts.items() if name not in ("complete", "problem")])
    if gone.problem:
        out.line(gone.problem)
    return bool(gone.problem)
