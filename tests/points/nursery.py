"""Starts servers quickly: one process imports the libraries, and each server is a fork of it.

A server is a process of its own all the same, with a memory and descriptors of its own, and dies of SIGKILL as any
other. Only libraries are shared: the host and the plugin are read and run anew in each.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

from refhost.world import World

BOOT = Path(__file__).resolve().parents[2] / "refhost" / "boot.py"
LIBRARIES = (
    *("argparse", "asyncio", "concurrent.futures", "dataclasses", "email.message", "flask", "hashlib", "html", "http.client"),
    *("http.server", "json", "logging", "queue", "runpy", "secrets", "socket", "sqlite3", "tempfile", "traceback", "typing"),
    *("unittest", "urllib.request", "uuid", "werkzeug.serving", "zoneinfo"),
)


class Fork:
    """As much of a Popen as a world needs. Linux tells by a descriptor when a process that is not our child has ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended = False
        try:
            self._watch = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended = True

    def poll(self) -> int | None:
        return 0 if self._has_ended(0) else None

    def wait(self, timeout: float | None = None) -> int:
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired("server", timeout or 0)
        return 0

    def _has_ended(self, timeout: float | None) -> bool:
        if not self._ended and select.select([self._watch], [], [], timeout)[0]:
            os.close(self._watch)
            self._ended = True
        return self._ended

    def send_signal(self, number: int) -> None:
        if not self._has_ended(0):
            signal.pidfd_send_signal(self._watch, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class QuickWorld(World):
    """A world whose servers come from a nursery."""

    _nursery: subprocess.Popen[str] | None = None

    def _launch(self, program: list[str], environment: dict[str, str], log: BinaryIO) -> Any:
        if not hasattr(os, "pidfd_open"):
            return super()._launch(program, environment, log)
        if self._nursery is None:
            command = [sys.executable, "-m", "tests.points.nursery"]
            checkout = BOOT.parents[1]
            self._nursery = subprocess.Popen(command, cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        order = {"program": program, "environment": environment, "folder": str(self.folder), "log": log.name}
        self._nursery.stdin.write(json.dumps(order) + "\n")
        self._nursery.stdin.flush()
        return Fork(int(self._nursery.stdout.readline()))

    def close(self) -> None:
        super().close()
        if self._nursery is not None and self._nursery.stdin and self._nursery.stdout:
            self._nursery.stdin.close()
            self._nursery.wait()
            self._nursery.stdout.close()


def main() -> None:
    for name in LIBRARIES:
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a server ended: its mark says it
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become(order)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def become(order: dict[str, Any]) -> None:
    """Be the server: its descriptors, environment and arguments, as if it had been started by itself."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing, log = os.open(os.devnull, os.O_RDONLY), os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.dont_write_bytecode, sys.pycache_prefix = False, None
    boot, *arguments = order["program"]
    sys.argv = [boot, *arguments]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "refhost", "journal")]:
        del sys.modules[name]
    sys.path[0] = str(BOOT.parent)
    code = compile(BOOT.read_text("utf-8"), str(BOOT), "exec")
    try:
        exec(code, {"__name__": "__main__", "__file__": str(BOOT)})
    finally:
        sys.stdout.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
