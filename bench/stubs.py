"""The plugin's hooks with nothing behind them: what a host takes for calling hooks at all. It knows no journal."""

from __future__ import annotations

from refhost.world import CHECKOUT

NAME = "empty_hooks"

_STUB = """from helpers.extension import Extension


class Empty(Extension):
    {kind} execute(self, **kwargs):
        return None
"""


def files() -> dict[str, str]:
    """The files of a plugin that hooks the same points, in the same way, and does nothing there."""
    found = {"plugin.yaml": f"name: {NAME}\nversion: 0.0.1\n"}
    for path in sorted((CHECKOUT / "extensions" / "python").rglob("*.py")):
        kind = "async def" if "async def execute" in path.read_text("utf-8") else "def"
        found[path.relative_to(CHECKOUT).as_posix()] = _STUB.format(kind=kind)
    return found
