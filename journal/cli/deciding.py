"""Decisions at a terminal, while no server runs: the same offers as in the panel, checked the same way.

Only a person decides: without a terminal on both ends nothing is even offered.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from typing import Any

from ..errors import NotAllowed
from ..ids import Ids
from ..look import Look
from ..records import Choice, Decision
from .known import masker
from .looking import find_run, print_run
from .output import Output, agreed
from .owning import own


def add_to(commands: Any, common: argparse.ArgumentParser) -> None:
    decide = commands.add_parser("decide", parents=[common], help="settle a held run (at a terminal, while no server runs)")
    decide.add_argument("run", help="its id, or the end of it")
    decide.add_argument("choice", choices=[choice.value for choice in Choice])
    decide.add_argument("--step", type=int, metavar="N", help="which step, where the choice is about one")
    decide.add_argument("--note", default="", help="how you know; needed for the two confirmations")
    decide.add_argument("--result", default=None, help="what a confirmed step returned, if you know it")
    decide.set_defaults(command=decide_run)
    grant = commands.add_parser("grant", parents=[common], help="allow a cut-off model call more attempts (as decide)")
    grant.add_argument("run", help="its id, or the end of it")
    grant.add_argument("attempts", type=int, choices=(1, 2, 3))
    grant.add_argument("--step", type=int, metavar="N", help="which step, where several were cut off")
    grant.set_defaults(command=grant_run)


def decide_run(asked: argparse.Namespace, out: Output) -> bool:
    _need_person()
    run_id = find_run(Look(asked.folder, masker=masker(asked)), asked.run)
    journal = own(asked, out)
    try:
        view = journal.run_view(run_id)
        offer = _offered(view, asked)
        print_run(view, out)
        out.line(f"\n{offer['preview']}")
        _ask("Type yes to record this decision: ")
        decision = Decision(
            run_id=run_id,
            version=view["run"]["version"],
            call_id=offer["call_id"],
            shown_digest=offer["digest"],
            choice=Choice(offer["id"]),
            note=asked.note,
            ack=offer["needs_ack"],
            result_text=asked.result,
            request_id=Ids().new("terminal"),
            origin=_origin(),
        )
        after = journal.decide(decision).result()
        out.document({"run_id": run_id, "state": after.state.value, "version": after.version})
        out.line(_said(after.state.value))
    finally:
        journal.close()
    return False


def grant_run(asked: argparse.Namespace, out: Output) -> bool:
    _need_person()
    run_id = find_run(Look(asked.folder, masker=masker(asked)), asked.run)
    journal = own(asked, out)
    try:
        view = journal.run_view(run_id)
        call = _cut_off(view, asked)
        print_run(view, out)
        out.line(f"\nThe model may be asked again for step {call['n']}, {asked.attempts} more at most. It may be billed again.")
        _ask("Type yes to allow it: ")
        request = Ids().new("terminal")
        after = journal.grant(run_id, view["run"]["version"], call["call_id"], asked.attempts, request, _origin()).result()
        out.document({"run_id": run_id, "state": after.state.value, "version": after.version})
        out.line(_said(after.state.value))
    finally:
        journal.close()
    return False


def _offered(view: dict[str, Any], asked: argparse.Namespace) -> dict[str, Any]:
    """The offer that is meant. Without --step it is the only step that this choice can be about."""
    found = [offer for offer in view["decisions"] if offer["id"] == asked.choice]
    if asked.step is not None:
        numbers = {call["n"]: call["call_id"] for call in view["calls"]}
        if asked.step not in numbers:
            raise NotAllowed(f"This run has no step {asked.step}.")
        found = [offer for offer in found if offer["call_id"] == numbers[asked.step]]
    allowed: list[dict[str, Any]] = [offer for offer in found if offer["allowed"]]
    if len(allowed) > 1:
        raise NotAllowed("This choice can be about several steps. Say which: --step N")
    if not allowed:
        raise NotAllowed(found[0]["reason"] if found else "This is not asked here.")
    return allowed[0]


def _cut_off(view: dict[str, Any], asked: argparse.Namespace) -> dict[str, Any]:
    """The model call that is meant. Without --step it is the only one that was cut off."""
    grantable = {grant["call_id"] for grant in view["grants"]}
    found: list[dict[str, Any]] = [call for call in view["calls"] if call["call_id"] in grantable and asked.step in (None, call["n"])]
    if not grantable:
        raise NotAllowed("This run is not held for a model call that was cut off.")
    if not found:
        raise NotAllowed(f"Step {asked.step} is no model call that was cut off.")
    if len(found) > 1:
        raise NotAllowed("Several model calls were cut off. Say which: --step N")
    return found[0]


def _need_person() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NotAllowed("A decision is a person's: this works at a terminal only.")


def _ask(question: str) -> None:
    if not agreed(question):
        raise NotAllowed("Nothing was recorded.")


def _origin() -> str:
    try:
        where = os.ttyname(sys.stdin.fileno())
    except OSError:
        where = "a terminal"
    return f"command line, {getpass.getuser()} at {where}"


def _said(state: str) -> str:
    if state == "queued":
        return "Recorded. The run goes on at the next start of the server, without asking again."
    if state == "stopped":
        return "Recorded. The run is stopped."
    return "Recorded. Another step of this run still waits for a decision."
