"""Commands that only read: what is in the journal. They take no lock, and work beside a running server."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import NotAllowed, UnknownRun
from ..ids import RunId
from ..look import Look
from .known import masker
from .output import Output, moment


def add_to(commands: Any, common: argparse.ArgumentParser) -> None:
    status = commands.add_parser("status", parents=[common], help="which journal this is, who has it, what waits for you")
    status.set_defaults(command=show_status)
    runs = commands.add_parser("runs", parents=[common], help="runs that wait for a person; --all for every run")
    runs.add_argument("--all", action="store_true", help="every run, newest first")
    runs.add_argument("--most", type=int, default=50, metavar="N", help="so many at most (50)")
    runs.set_defaults(command=show_runs)
    run = commands.add_parser("run", parents=[common], help="one run with its calls")
    run.add_argument("run", help="its id, or the end of it")
    run.set_defaults(command=show_run)
    secrets = commands.add_parser("secrets", parents=[common], help="runs that hold a secret which is known now: names, never values")
    secrets.set_defaults(command=show_secrets)


def look(asked: argparse.Namespace, out: Output) -> Look:
    """Open for reading, and say so."""
    looking = Look(asked.folder, masker=masker(asked))
    owned = looking.status()["owned"]
    out.say("Read beside the running server; nothing was locked." if owned else "Read as it lies; nothing was locked.")
    if looking.is_newer:
        out.say(f"A newer version wrote this journal (schema {looking.schema}). What is shown may be incomplete.")
    return looking


def show_status(asked: argparse.Namespace, out: Output) -> bool:
    facts = look(asked, out).status()
    counts, identity = facts["counts"] or {}, facts["identity"] or {}
    out.document({"folder": str(asked.folder), **facts})
    owner = {True: "a running server", False: "nobody", None: "not known"}[facts["owned"]]
    out.facts(
        [
            ("folder", asked.folder),
            ("journal", identity.get("journal_id", "–")),
            ("schema", f"{facts['schema']}{' (newer than this version)' if facts['newer'] else ''}"),
            ("generation", identity.get("generation", "–")),
            ("in use by", owner),
            ("runs", counts.get("all", "–")),
            ("unfinished", counts.get("unfinished", "–")),
            ("waiting for you", counts.get("needs_you", "–")),
        ]
    )
    for generation in facts["generations"] or []:
        out.line(f"generation {generation['generation']} began {moment(generation['began_at'])} UTC: {generation['reason']}")
    return bool(counts.get("needs_you"))


def show_runs(asked: argparse.Namespace, out: Output) -> bool:
    if asked.most < 1:
        raise NotAllowed("--most must be 1 or more.")
    looking = look(asked, out)
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(items) < asked.most:
        page = looking.listing("all" if asked.all else "needs_you", cursor)
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    items = items[: asked.most]
    out.document({"items": items})
    if not items:
        out.line("There is no run." if asked.all else "Nothing waits for you.")
        return False
    out.table(("RUN", "STATE", "SINCE (UTC)", "STEP", "TITLE"), [_line(item) for item in items])
    return any(item["state"] == "held" for item in items)


def _line(item: dict[str, Any]) -> tuple[str, ...]:
    step = item["step"]
    at = f"{step['n']} of {step['of']} {step['name']}" if step else "–"
    state = f"{item['state']}: {item['reason']['code']}" if item["reason"] else item["state"]
    return item["run_id"], state, moment(item["since"]), at, item["title"] or "–"


def find_run(looking: Look, given: str) -> RunId:
    """The whole id, or an ending that only one run has."""
    try:
        return looking.run(given).run_id
    except UnknownRun:
        found, cursor = [], None
        while True:
            page = looking.listing("all", cursor)
            found += [item["run_id"] for item in page["items"] if item["run_id"].endswith(given)]
            cursor = page["next"]
            if cursor is None:
                break
    if len(found) > 1:
        raise NotAllowed(f"{len(found)} runs end with {given}. Give more of the id.")
    if not found:
        raise UnknownRun(RunId(given))
    return RunId(found[0])


def show_run(asked: argparse.Namespace, out: Output) -> bool:
    looking = look(asked, out)
    view = looking.run_view(find_run(looking, asked.run))
    out.document(view)
    print_run(view, out)
    return bool(view["run"]["state"] == "held")


def print_run(view: dict[str, Any], out: Output) -> None:
    run = view["run"]
    out.facts(
        [
            ("run", run["run_id"]),
            ("title", run["title"] or "–"),
            ("chat", run["chat_id"]),
            ("state", run["state"]),
            ("admitted", f"{moment(run['created_at'])} UTC"),
        ]
    )
    if run["reason"]:
        out.line(f"\n{run['reason']['text']} ({run['reason']['code']}, since {moment(run['since'])} UTC)")
    out.line()
    rows = [(call["n"], call["status"], moment(call["at"]), call["name"], call["summary"]) for call in view["calls"]]
    out.table(("STEP", "STATUS", "AT (UTC)", "NAME", "WHAT"), rows)
    for call in view["calls"]:
        for item in call["evidence"]:
            out.line(f"step {call['n']}, {item['what']}: {item['text']}")
    for message in view["messages"]:
        out.line(f"message {message['state']}: {message['text']}")


def show_secrets(asked: argparse.Namespace, out: Output) -> bool:
    found = look(asked, out).find_secrets()
    out.document({"items": [{"run_id": leak.run_id, "secrets": list(leak.names)} for leak in found]})
    if not found:
        out.line("No run holds a secret that is known here.")
        return False
    out.table(("RUN", "SECRETS"), [(leak.run_id, ", ".join(leak.names)) for leak in found])
    out.line("\nWhat is stored stays until its run goes. Treat the journal and its backups as holding them, and change them.")
    return True
