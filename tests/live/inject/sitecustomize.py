"""Runs the test's own file inside the server process before the server's first line.

Python imports this module at start because the harness put its folder on PYTHONPATH. Only the
server itself is concerned: the tools that it starts inherit the variables and must stay untouched.
"""

from __future__ import annotations

import os
import runpy
import sys

if any(part.endswith("run_ui.py") for part in sys.orig_argv) and os.environ.get("LIVE_INJECT"):
    runpy.run_path(os.environ["LIVE_INJECT"], run_name="live_inject")
