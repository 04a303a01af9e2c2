"""Compares the host with UPSTREAM.json before anything is touched. Refuses, never guesses.

Every pinned file must match one accepted host by its bytes, and a module that the
host loads once must also run the code of those bytes: after an update without a
restart the file is newer than the process.
"""

from __future__ import annotations

import compileall
import importlib
import json
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..journal.accepted import closest
from . import paths


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison found. `label` names the accepted host when `ok`."""

    ok: bool
    label: str = ""
    changed: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    replay: dict[str, str] | None = None

    @property
    def code(self) -> str:
        if self.ok:
            return ""
        return "host_changed" if self.changed else "restart_needed"

    @property
    def files(self) -> list[str]:
        return [*self.changed, *self.stale]

    @property
    def text(self) -> str:
        if self.ok:
            return ""
        if self.changed:
            return (
                "Durable Execution did not start: these Agent Zero files differ from the reviewed version. "
                "Nothing was changed. Update the plugin or restore the files, then switch it on again."
            )
        return "Agent Zero must restart before new work is recorded: these files changed after it started. Nothing was changed."


def inspect_host(root: Path, *, loaded: bool) -> Verdict:
    """Compare `root` with the accepted hosts; with `loaded` also the code in memory."""
    accepted = json.loads((paths.ROOT / "UPSTREAM.json").read_text(encoding="utf-8"))["hosts"]
    match = closest(root, accepted)
    if match.changed:
        return Verdict(False, match.label, match.changed)
    stale = tuple(_stale(root, match.entry["files"])) if loaded else ()
    return Verdict(not stale, match.label, (), stale, match.entry.get("replay", {}))


def _stale(root: Path, names: Any) -> Iterator[str]:
    """Name the pinned modules whose loaded functions are not those of the pinned bytes."""
    for name in names:
        if not name.endswith(".py"):
            continue
        path = root / name
        module = _loaded(path, name)
        if module is None:
            continue
        allowed = set(_codes(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))
        if any(code not in allowed for code in _running(module, path)):
            yield name


def _loaded(path: Path, name: str) -> types.ModuleType | None:
    """The module that the process runs from `path`, under its own name or as `__main__`."""
    dotted = name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    for candidate in (dotted, "__main__"):
        module = sys.modules.get(candidate)
        file = getattr(module, "__file__", None)
        if module is not None and file and Path(file).resolve() == path.resolve():
            return module
    return None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _running(module: types.ModuleType, path: Path) -> Iterator[types.CodeType]:
    """Every function of the module that was compiled from its own file, wrappers looked through."""
    for value in vars(module).values():
        members = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else [value]
        for member in members:
            function = _function(member)
            while function is not None:
                if Path(function.__code__.co_filename).resolve() == path.resolve():
                    yield function.__code__
                function = _function(vars(function).get("__wrapped__"))


def _function(member: Any) -> types.FunctionType | None:
    """The function behind a member. Judged by its type: a proxy of the web server may raise when it is asked."""
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    elif isinstance(member, property):
        member = member.fget
    return member if type(member) is types.FunctionType else None


def import_everything() -> None:
    """Import all of our modules and compile what the host loads by path, so that no bytecode file appears later.

    A file event below usr/plugins while the host starts its watchers can hang the
    host's start for ever.
    """
    base = __name__.rsplit(".", 2)[0]
    for folder in ("journal", "bridge"):
        for path in sorted((paths.ROOT / folder).rglob("*.py")):
            relative = path.relative_to(paths.ROOT).with_suffix("")
            if relative.name == "__main__" or "cli" in relative.parts:
                continue  # for terminals: a server never needs them
            importlib.import_module(".".join([base, *relative.parts]).removesuffix(".__init__"))
    if not sys.dont_write_bytecode:
        compileall.compile_file(paths.ROOT / "hooks.py", quiet=2)
        for folder in ("api", "extensions", "tools"):
            compileall.compile_dir(paths.ROOT / folder, quiet=2)  # where the folder cannot be written, the host cannot either
