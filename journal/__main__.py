"""`python -m journal`: look after a journal from a terminal, also while no server runs."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main(sys.argv[1:]))
