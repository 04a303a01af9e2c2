"""Run inside the host's process before it starts: the points of tests/points by the words `FAULT=<when>:<door>:<n>`.

`before:begin_call.tool:1` is the first time that this is asked of the journal, `after:…` the moment in which the caller
has its answer. The kill happens once in a world: the file `FAULT_MARK` keeps it from happening again after the restart.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

when, door, nth = os.environ.get("FAULT", "::").split(":")
mark = os.environ.get("FAULT_MARK", "")
if door and not (mark and Path(mark).exists()):
    step = {"before": "asked", "after": "answered"}[when]
    os.environ.update({"POINT": f"{door}.{step}:{nth}", "POINT_MARK": mark})
    runpy.run_path(str(Path(__file__).parents[1] / "points" / "inject.py"), run_name="points")
