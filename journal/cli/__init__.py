"""The command line: what it can be asked, where the journal is, what an exit code means. The commands lie beside it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import errors
from . import checks, deciding, looking, safety, suspending
from .output import Output

PLUGIN = "durable_execution"

OK, ATTENTION, USAGE, REFUSED, UNAVAILABLE, CORRUPT = 0, 1, 2, 3, 4, 5

_CODES = f"""exit codes:
  {OK}  done, nothing is wrong
  {ATTENTION}  done; something was found that a person should look at
  {USAGE}  the command was not understood
  {REFUSED}  refused; nothing was changed
  {UNAVAILABLE}  the journal is in use, absent or out of reach
  {CORRUPT}  the journal, or a part of it, cannot be trusted"""


def main(arguments: Sequence[str]) -> int:
    """Run one command; answers the exit code. A JournalError is one sentence on the error stream, never a traceback."""
    asked = _parser().parse_args(arguments)
    out = Output(as_json=asked.json)
    try:
        asked.folder = _folder(asked.folder)
        attention = asked.command(asked, out)
    except errors.JournalError as error:
        out.failed(error)
        return _code(error)
    except KeyboardInterrupt:
        out.say("Ended by hand. What was finished stays.")
        return ATTENTION
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return ATTENTION if attention else OK


def _code(error: errors.JournalError) -> int:
    match error:
        case errors.Refused() | errors.Conflict():
            return REFUSED
        case errors.Corrupt():
            return CORRUPT
    return UNAVAILABLE


def _folder(given: str | None) -> Path:
    if given or os.environ.get("A0_DURABILITY_FOLDER"):
        return Path(given or os.environ["A0_DURABILITY_FOLDER"]).expanduser()
    # the plugin lies at usr/plugins/<name>, its data at usr/plugin_data/<name>
    plugin = Path(__file__).resolve().parent.parent.parent
    if plugin.parent.name == "plugins":
        return plugin.parent.parent / "plugin_data" / PLUGIN
    raise errors.NotAllowed("Say which journal: --folder=/path/to/usr/plugin_data/durable_execution")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m journal",
        description="Look after a journal of Durable Execution. Reading works beside a running server.",
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--folder", help="the journal's folder; found by itself where the plugin is installed")
    common.add_argument("--secrets", action="append", metavar="FILE", help="another file of KEY=value lines whose values are hidden")
    common.add_argument("--json", action="store_true", help="one JSON document on standard output, for scripts")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for room in (looking, deciding, suspending, safety, checks):
        room.add_to(commands, common)
    return parser
