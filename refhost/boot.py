"""Starts a world's server after one file of the caller: `boot.py <world> <file> [server arguments]`.

This is how tests put fault points and recorders into the child; the product has no switch for them.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> None:
    world, inject, *arguments = sys.argv[1:]
    sys.path[0] = world
    sys.argv = [str(Path(world, "run_ui.py")), *arguments]
    runpy.run_path(inject, run_name="refhost_inject")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
