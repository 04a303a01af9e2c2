"""Loads files as modules that no name leads to, and forgets named ones. Extensions, routes and tools come from here."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

from helpers.files import get_abs_path


def import_module(file_path: str) -> ModuleType:
    """Executes the file anew. The module is not entered in `sys.modules`: its state lasts as long as its user keeps it."""
    path = Path(get_abs_path(file_path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_classes_from_file[T](file: str, base_class: type[T], one_per_file: bool = True) -> list[type[T]]:
    """The subclasses in the file, the last by name first; imported ones count."""
    members = inspect.getmembers(import_module(file), inspect.isclass)
    found = [cls for _, cls in reversed(members) if issubclass(cls, base_class) and cls is not base_class]
    return found[:1] if one_per_file else found


def load_classes_from_folder[T](folder: str, name_pattern: str, base_class: type[T], one_per_file: bool = True) -> list[type[T]]:
    paths = sorted(Path(get_abs_path(folder)).iterdir(), key=lambda path: path.name)
    wanted = [path for path in paths if path.suffix == ".py" and fnmatch(path.name, name_pattern)]
    return [cls for path in wanted for cls in load_classes_from_file(str(path), base_class, one_per_file)]


def purge_namespace(namespace: str) -> list[str]:
    """Removes the package and all below it from `sys.modules`; the next import executes the files again."""
    names = [name for name in sys.modules if name == namespace or name.startswith(namespace + ".")]
    for name in names:
        del sys.modules[name]
    importlib.invalidate_caches()
    return names
