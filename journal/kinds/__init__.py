"""The kinds of documents. A file in this room is a kind: a module with a `KIND`; nothing else has to know of it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from .base import Kind

_SHARED = "base"

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for found in pkgutil.iter_modules(__path__)
        if found.name != _SHARED
        for kind in (importlib.import_module(f".{found.name}", __name__).KIND,)
    }
)
