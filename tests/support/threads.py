"""A thread that is killed from outside, as nothing in the product can."""

from __future__ import annotations

import ctypes
import threading


def kill_thread(thread: threading.Thread) -> bool:
    """Raise SystemExit in the thread at its next step of Python; False if it has ended already."""
    if thread.ident is None or not thread.is_alive():
        return False
    return ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)) == 1


def named(name: str) -> threading.Thread | None:
    return next((thread for thread in threading.enumerate() if thread.name == name), None)
