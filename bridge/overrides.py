"""Reads `overrides/**.py` and pairs each function with the host function it wraps.

An override file mirrors the host file's path, and a class in it a class of the host's. It is parsed and compiled, never
imported, and each of its functions takes the original first: it wraps, it does not
replace. What it may use of us is passed in as the name `journaled`. What wraps a part of the
host's own plugins comes late: the host loads those when it needs them, or never.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .undo import UndoLog


class OverrideMismatch(Exception):
    """A wrapped host function is not what the override was written for."""


@dataclass(frozen=True, slots=True)
class Override:
    """One function of an override file and the host attribute it wraps; that of a class is named `Class.function`."""

    module: str
    name: str
    wrap: Callable[..., Any]

    @property
    def target(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def is_late(self) -> bool:
        return self.module.startswith("plugins.")


def read(folder: Path, journaled: Any) -> Iterator[Override]:
    """Compile every override below `folder`, in a fixed order."""
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source, str(path))
        space: dict[str, Any] = {"__name__": f"durable_overrides.{path.stem}", "journaled": journaled}
        exec(compile(tree, str(path), "exec"), space)
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Override(module, node.name, space[node.name])
            elif isinstance(node, ast.ClassDef):
                functions = {name: each for name, each in vars(space[node.name]).items() if inspect.isfunction(each)}
                yield from (Override(module, f"{node.name}.{name}", each) for name, each in functions.items())


def install(folder: Path, journaled: Any, undo: UndoLog) -> list[Override]:
    """Swap every target for its wrapper; on any mismatch undo all and raise. Returns those that come late."""
    late = []
    try:
        for override in read(folder, journaled):
            if override.is_late:
                late.append(override)
            else:
                _swap(importlib.import_module(override.module), override, undo)
    except Exception:
        undo.undo()
        raise
    return late


def install_late(late: list[Override], undo: UndoLog, is_reviewed: Callable[[str], bool]) -> list[str]:
    """Swap what the host has loaded by now and take it off the list; return the targets that are not what was reviewed."""
    wrong = []
    for override in [each for each in late if each.module in sys.modules]:
        late.remove(override)
        if not is_reviewed(override.module):
            wrong.append(override.target)
            continue
        try:
            _swap(importlib.import_module(override.module), override, undo)
        except (OverrideMismatch, KeyError):
            wrong.append(override.target)
    return wrong


def _swap(module: Any, override: Override, undo: UndoLog) -> None:
    *inside, name = override.name.split(".")
    owner = vars(module)[inside[0]] if inside else module
    if undo.holds(owner, name):
        return  # our wrapper is still there, it looks up what is in force
    original = vars(owner)[name]
    _check(override, original)
    undo.swap(owner, name, _wrapper(override, original), override.target)


def _wrapper(override: Override, original: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def wrapped(*args: Any, **kwargs: Any) -> Any:
            return await override.wrap(original, *args, **kwargs)
    else:

        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return override.wrap(original, *args, **kwargs)

    vars(wrapped)["durable_override"] = override.target
    return wrapped


def _check(override: Override, original: Any) -> None:
    expected = list(inspect.signature(override.wrap).parameters.values())[1:]
    found = list(inspect.signature(original).parameters.values())
    same = [(p.name, p.kind, p.default) for p in expected] == [(p.name, p.kind, p.default) for p in found]
    if not same or inspect.iscoroutinefunction(original) != inspect.iscoroutinefunction(override.wrap):
        raise OverrideMismatch(override.target)
