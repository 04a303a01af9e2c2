"""What the author of an agent declares about its steps: which may be repeated without a person, and why (I4).

The list is handed in when the journal is opened; a step cannot put itself on it. An entry counts for the source of
its function: when the file changes, what was begun under the old one is not repeated. A step that is not listed is
unsafe: cut off, it waits for a person.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from . import codec
from .digests import of_file
from .records import Call, Permission
from .replay import Allowlist, Policy, Repeat

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One declaration: one of the three below."""

    function: Function
    version: str = field(default="", kw_only=True)
    """Yours to change when the meaning changes; stands in for the digest of the source file."""


@dataclass(frozen=True, slots=True)
class Safe(Entry):
    """It changes nothing outside, however often it runs: reading, computing, asking a model again."""


@dataclass(frozen=True, slots=True)
class Idempotent(Entry):
    """The service behind it does the work once for each key. The key comes in the keyword argument named `key`."""

    keeps_for: timedelta = timedelta(hours=24)
    """How long the service remembers a key. Later than this, the step waits for a person."""
    key: str = "idempotency_key"


@dataclass(frozen=True, slots=True)
class Checked(Entry):
    """A look at the world can prove whether it happened. `check` gets the same arguments and changes nothing.

    It is asked after an interruption only, and answers `done(value)`, `not_done()` or `unknown()`.
    """

    check: Function


_REPEAT: Mapping[type[Entry], Repeat] = {Safe: Repeat.SAFE, Idempotent: Repeat.IDEMPOTENT, Checked: Repeat.CHECKED}


class Reviewed:
    """The entries of one agent, and the allowlist that they are to the journal."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[str, tuple[Entry, Permission]] = {}
        policies: dict[str, Policy] = {}
        for entry in entries:
            name = name_of(entry.function)
            if name in self._entries:
                raise ValueError(f"{name} is declared twice")
            repeat = _REPEAT[type(entry)]
            policy = f"{repeat.value}:{name}"
            policies[policy] = Policy(" ".join((type(entry).__doc__ or "").split()), repeat)
            self._entries[name] = (entry, Permission(policy, _digest(entry)))
        self.allowlist: Allowlist = policies

    def entry(self, function: Function) -> Entry | None:
        """The entry for this very function. Another one of the same name is unsafe."""
        found = self._entries.get(name_of(function))
        return found[0] if found is not None and found[0].function == function else None

    def permission(self, function: Function) -> Permission:
        return self._entries[name_of(function)][1] if self.entry(function) is not None else Permission()

    def permission_of(self, call: Call) -> Permission:
        """What the entry that a call was begun under allows now."""
        name = (call.permission.policy or "").partition(":")[2]
        return self._entries[name][1] if name in self._entries else Permission()


def name_of(function: Function) -> str:
    """The name under which people will find the step. A function without one cannot be a step."""
    name = getattr(function, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeError(f"a step needs a function with a name, not {function!r}")
    return name


def _digest(entry: Entry) -> str:
    about: list[Any] = [name_of(entry.function), entry.version or _source(entry.function)]
    match entry:
        case Idempotent():
            _check_takes(entry.function, entry.key)
            about += [entry.key, entry.keeps_for.total_seconds()]
        case Checked():
            about += [name_of(entry.check), entry.version or _source(entry.check)]
    return codec.digest(codec.encode(about))


def _source(function: Function) -> str:
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
        return of_file(Path(file or ""))
    except (OSError, TypeError) as error:
        raise TypeError(f"{name_of(function)} has no source file to pin; give its entry a version") from error


def _check_takes(function: Function, key: str) -> None:
    parameters = inspect.signature(function).parameters.values()
    takes = any((each.name == key and each.kind is not each.POSITIONAL_ONLY) or each.kind is each.VAR_KEYWORD for each in parameters)
    if not takes:
        raise TypeError(f"{name_of(function)} is declared idempotent and does not take {key}=")
