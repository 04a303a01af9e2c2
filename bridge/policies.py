"""What may run again without a person, asked of the tool that the host really resolved (I4).

The names and their rules stand here, the digests per host version in UPSTREAM.json.
Another plugin may override a tool by name, so the file that the class came from is
pinned, not the name. An addition needs an ADR.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..journal.records import Call, Permission
from ..journal.replay import Allowlist, Policy
from . import paths, senders
from .unread import files

if TYPE_CHECKING:
    from .activation import Activation

POLICIES: Allowlist = {
    "response": Policy("Hands the final answer to the chat. What an integration then sends is a call of its own."),
    "wait": Policy("Waits, at most until the recorded moment.", idle=True),
    "durable_plan": Policy("Reads the plan, or writes it in the very commit that saves the call's result."),
    "call_subordinate": Policy("Makes an agent work whose steps are recorded one by one.", through=True),
    "parallel": Policy("Its jobs are runs of their own: what has ended is answered from the record.", idle=True),
}
"""Policies in force."""

OWN = {"tools/durable_plan.py": "52902766fa55716a2ecdae65a1c28b7c1b3834524c5da405f02a1ed8eb3a02b5"}
"""Tools of our own: the reviewed source, by its file in the plugin. The host's are pinned per version in UPSTREAM.json."""

WAIT = "wait"
SUBORDINATE = "call_subordinate"


def permission(tool: Any, ctx: Any, pins: dict[str, str], root: Path) -> Permission:
    """The policy of this tool instance, or none: nothing labels itself safe."""
    name = tool.name
    if name not in POLICIES or (name == "response" and not senders.is_recorded(ctx)):
        return Permission()
    for kind in type(tool).__mro__:
        execute = vars(kind).get("execute")
        code = getattr(execute, "__code__", None)
        if code is not None:
            return _pinned(name, Path(code.co_filename), pins, root)
    return Permission()


def _pinned(name: str, file: Path, pins: dict[str, str], root: Path) -> Permission:
    try:
        resolved = file.resolve()
        relative = _own_name(resolved) or resolved.relative_to(root.resolve()).as_posix()
    except (OSError, ValueError):
        return Permission()
    digest = files.digest(str(resolved))
    if not digest:
        return Permission()
    return Permission(name, digest) if pins.get(relative) == digest else Permission(None, digest)


def permission_now(active: Activation, call: Call) -> Permission:
    """What the pinned files allow today for a call whose tool is not loaded yet."""
    if call.permission.policy is None:
        return Permission()
    known = call.permission.source_digest in active.replay_pins.values()
    return call.permission if known else Permission()


def own_pins() -> dict[str, str]:
    """The pins of our own tools, under names that no file of a host has."""
    return {f"{paths.PLUGIN}:{name}": digest for name, digest in OWN.items()}


def _own_name(resolved: Path) -> str:
    return next((f"{paths.PLUGIN}:{name}" for name in OWN if resolved == (paths.ROOT / name).resolve()), "")


def wait_target(arguments: dict[str, Any], now: int) -> int | None:
    """The moment, in milliseconds UTC, that a wait for a duration ends; None for a given time."""
    if arguments.get("until"):
        return None
    try:
        units = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
        total = sum(int(arguments.get(unit, 0) or 0) * factor for unit, factor in units.items())
    except (TypeError, ValueError):
        return None
    return now + total * 1000 if total > 0 else None


def shorten_wait(tool: Any, call: Call, now: int) -> None:
    """A wait that runs again ends at its recorded time, not after the whole duration."""
    target = call.extra.get("until")
    if not target:
        return
    left = max(1, math.ceil((target - now) / 1000))
    for unit in ("minutes", "hours", "days"):
        tool.args.pop(unit, None)
    tool.args["seconds"] = left
