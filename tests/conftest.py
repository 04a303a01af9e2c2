"""Gives the checkout the names it has in Agent Zero, whatever its folder is called.

`usr.plugins.durable_execution` is this checkout, as the host would see it, and
`journal`, `refhost` and `tests` can be imported. Nothing is stubbed here: a test that
needs a host starts one in a process of its own.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PLUGIN = "usr.plugins.durable_execution"


def _install_name() -> None:
    """Make the plugin's dotted name a namespace whose last part is the checkout."""
    parent: types.ModuleType | None = None
    dotted = ""
    for part in PLUGIN.split("."):
        dotted = f"{dotted}.{part}".lstrip(".")
        module = sys.modules.get(dotted)
        if module is None:
            module = types.ModuleType(dotted)
            module.__path__ = []
            sys.modules[dotted] = module
        if parent is not None:
            setattr(parent, part, module)
        parent = module
    assert parent is not None
    parent.__path__ = [str(CHECKOUT)]


if str(CHECKOUT) not in sys.path:
    sys.path.insert(0, str(CHECKOUT))
_install_name()
