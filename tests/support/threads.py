"""A thread that is killed from outside, as nothing in the product can."""

from __future__ import annotations

import ctypes
import sys
import threading


def kill_thread(thread: threading.Thread, work: str) -> bool:
    """Raise SystemExit in the thread at its next step of Python; False if it is not inside the function `work`.

    Between its start and its work nothing of ours can notice its end.
    """
    if thread.ident is None or not thread.is_alive() or not _is_inside(thread.ident, work):
        return False
    return ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)) == 1


def _is_inside(ident: int, work: str) -> bool:
    """Below the function, so that this one has taken its first step."""
    frame = sys._current_frames().get(ident)
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == work:
            return True
    return False


def named(name: str) -> threading.Thread | None:
    return next((thread for thread in threading.enumerate() if thread.name == name), None)
