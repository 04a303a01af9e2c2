"""Runs inside the server: tells which objects the host's functions are, through a local socket.

A test compares two such pictures: after the plugin is off, every attribute must be the object that
it was, down to code objects and closure cells. It changes nothing in the process.
"""

from __future__ import annotations

import inspect
import json
import os
import socket
import sys
import threading
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any


def picture() -> dict[str, list[int]]:
    """Name → identities, for each function that the host's own modules hold, wrappers unrolled."""
    root = f"{Path.cwd()}{os.sep}"
    own = root + "usr" + os.sep
    found: dict[str, list[int]] = {}
    for name, module in sorted(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if isinstance(module, ModuleType) and path.startswith(root) and not path.startswith(own):
            for key, value in list(vars(module).items()):
                found |= members(f"{name}.{key}", value, name)
    return found


def members(name: str, value: Any, module: str) -> dict[str, list[int]]:
    if inspect.isclass(value) and value.__module__ == module:
        parts = {f"{name}.{key}": identities(part) for key, part in list(vars(value).items())}
        return {key: part for key, part in parts.items() if part}
    return {name: found} if (found := identities(value)) else {}


def identities(value: Any) -> list[int]:
    found = [id(value)] if isinstance(value, FunctionType | staticmethod | classmethod | property) else []
    while found and value is not None:
        value = getattr(value, "__func__", value)
        value = getattr(value, "fget", value)
        found += [id(value), id(getattr(value, "__code__", None))]
        found += [id(cell.cell_contents) for cell in getattr(value, "__closure__", None) or () if filled(cell)]
        value = getattr(value, "__wrapped__", None)
    return found


def filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def serve(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            with server.accept()[0] as asker:
                asker.sendall(json.dumps(picture()).encode())


def start() -> None:
    path = os.environ["LIVE_PROBE"]
    Path(path).unlink(missing_ok=True)  # a killed server leaves its socket behind
    threading.Thread(target=serve, args=(path,), name="live-probe", daemon=True).start()


start()
