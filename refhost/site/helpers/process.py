"""The server of this process, and how it ends or starts over."""

from __future__ import annotations

import os
import sys
from typing import Any

from helpers import runtime
from helpers.print_style import PrintStyle

_server: Any = None


def set_server(server: Any) -> None:
    global _server
    _server = server


def get_server(server: Any = None) -> Any:
    return _server


def stop_server() -> None:
    """Asks it to end; it does so on its own thread."""
    if _server:
        _server.shutdown()
        set_server(None)


def reload() -> None:
    stop_server()
    if runtime.is_dockerized():
        exit_process()
    else:
        restart_process()


def restart_process() -> None:
    PrintStyle.standard("Restarting process...")
    os.execv(sys.executable, [sys.executable, *sys.argv])


def exit_process() -> None:
    PrintStyle.standard("Exiting process...")
    sys.exit(0)
