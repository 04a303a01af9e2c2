"""The plugin's settings, typed and checked. Secrets never stand here (environment only).

What cannot be used is said by name, and its own default is taken: a wrong word never changes another setting.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..journal.clock import Clock
from ..journal.modes import DEFAULTS as MODES
from ..journal.modes import VALUES
from . import notify, paths

DEFAULTS: dict[str, Any] = {
    "backend": "sqlite",
    "resume_parallel": 2,
    "retention_runs": 100,
    "retention_days": 30,
    "suspend_grace_s": 5,
    **MODES,
}
_NUMBERS = {"resume_parallel": (1, 16), "retention_runs": (1, 100_000), "retention_days": (1, 3650), "suspend_grace_s": (0, 50)}
_WORDS: Mapping[str, tuple[str, ...]] = {"backend": ("sqlite",), **VALUES}
_NO_SETTINGS = "The saved settings cannot be read."
_SETTLED_MS = 1000

_read: dict[tuple[str, str], tuple[tuple[Any, ...], object]] = {}
"""What the host said for a project and a profile, and what that depended on."""


def load() -> dict[str, Any]:
    """The settings in force for everything: the host's stored ones over our defaults."""
    chosen, problems = usable(_stored(None))
    for problem in problems:
        notify.write(f"{problem} {_used(problem)}")
    return chosen


def mode_for(agent: Any) -> tuple[dict[str, str], list[str]]:
    """How runs of this agent's chat behave from now on; and what of it cannot be used.

    What its project or profile says counts before what is said for all; what none of them says is the default.
    """
    for_all, for_this = _stored(None), _stored(agent)
    chosen, problems = usable({**for_all, **for_this} if isinstance(for_all, Mapping) and isinstance(for_this, Mapping) else for_this)
    mine = [problem for problem in problems if problem.split()[0] not in _NUMBERS]
    return {name: chosen[name] for name in MODES}, [f"{problem} {_used(problem)}" for problem in mine]


def checked(values: Mapping[str, Any], *, scoped: bool = False) -> dict[str, Any]:
    """Return what is to be saved, or raise ValueError that names what cannot be used and what is allowed.

    `scoped`: for a project or a profile. It keeps what it says of the modes, and nothing else can differ there.
    """
    chosen, problems = usable({name: value for name, value in values.items() if name in MODES} if scoped else values)
    if problems:
        raise ValueError(" ".join(problems))
    return {name: chosen[name] for name in MODES if name in values} if scoped else chosen


def usable(values: object) -> tuple[dict[str, Any], list[str]]:
    """Complete settings, and a sentence for each that is not what it must be."""
    if not isinstance(values, Mapping):
        return dict(DEFAULTS), [_NO_SETTINGS]
    result, problems = dict(DEFAULTS), []
    for name in DEFAULTS:
        if name not in values:
            continue
        value = _meant(name, values[name])
        if (problem := _problem(name, value)) is not None:
            problems.append(problem)
        else:
            result[name] = value
    return result, problems


def _stored(agent: Any) -> object:
    """What the host keeps for this agent's project and profile, or for all. A file that cannot be read is no settings at all."""
    from helpers import plugins

    scope = _scope(agent)
    try:
        stands = _as_it_stands(*scope)
        if stands is not None and _read.get(scope, (None, None))[0] == stands:
            return _read[scope][1]
        stored = plugins.get_plugin_config(paths.PLUGIN, agent=agent) or {}
    except Exception as error:  # it was edited by hand: whatever it does to the host's reader, chats go on
        notify.write(f"The settings of Durable Execution cannot be read ({type(error).__name__}).")
        return None
    if stands is not None:
        _read[scope] = (stands, stored)
    return stored


def _scope(agent: Any) -> tuple[str, str]:
    """The project and the profile that may have settings of their own."""
    if agent is None:
        return "", ""
    return str(agent.context.get_data("project") or ""), str(agent.config.profile or "")


def _as_it_stands(project: str, profile: str) -> tuple[Any, ...] | None:
    """All that the host's answer depends on: while it is the same, the file need not be read again.

    None where there is no file, or where it was written a moment ago: a second change within one tick of the file system
    would not be seen.
    """
    from helpers import plugins

    found = plugins.find_plugin_asset(paths.PLUGIN, "config.json", project_name=project, agent_profile=profile)
    file = Path(found["path"]) if found else paths.ROOT / "default_config.yaml"
    try:
        state = file.stat()
    except FileNotFoundError:
        return None
    if Clock().now() - max(state.st_mtime_ns, state.st_ctime_ns) // 1_000_000 < _SETTLED_MS:
        return None
    named = [f"{paths.PLUGIN}__{name}" for name in DEFAULTS]
    variables = [os.environ.get(f"A0_SET_{spelled}") for name in named for spelled in (name, name.upper())]
    return str(file), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns, *variables


def _meant(name: str, value: object) -> object:
    """`off` without quotes is `false` to a YAML reader."""
    return "off" if value is False and "off" in _WORDS.get(name, ()) else value


def _problem(name: str, value: object) -> str | None:
    if name in _NUMBERS:
        low, high = _NUMBERS[name]
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"{name} must be a whole number from {low} to {high}."
    words = _WORDS[name]
    if isinstance(value, str) and value in words:
        return None
    return f"{name} must be {' or '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)}."


def _used(problem: str) -> str:
    name = problem.split()[0]
    return f"{DEFAULTS[name]} is used." if name in DEFAULTS else "The defaults are used."
