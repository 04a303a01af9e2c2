"""How many examples the property tests try: few and always the same ones in `make test`, many in `make faults`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.configuration import set_hypothesis_home_dir

FULL = int(os.environ.get("FAULTS_EXAMPLES", "0"))
"""Set by `make faults`; 0 means the quick profile."""

_HEALTHY = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def examples(quick: int, *, cut_down: bool = True, full: int = FULL) -> settings:
    """No deadline and no database: a slow machine is no failure, and a run leaves nothing in the checkout.

    Where one example takes long, a failure is not `cut_down`: that would take hundreds more.
    """
    return settings(
        max_examples=full or quick,
        derandomize=not FULL,
        deadline=None,
        database=None,
        suppress_health_check=_HEALTHY,
        print_blob=True,
        phases=[Phase.generate, *([Phase.shrink] if cut_down else [])],
    )


set_hypothesis_home_dir(Path(tempfile.gettempdir()) / f"hypothesis-{os.getuid()}")
