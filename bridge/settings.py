"""The plugin's settings, typed and checked. Secrets never stand here (environment only)."""

from __future__ import annotations

from typing import Any

from . import notify, paths

DEFAULTS: dict[str, Any] = {"backend": "sqlite", "resume_parallel": 2, "retention_runs": 100, "retention_days": 30}
_NUMBERS = {"resume_parallel": (1, 16), "retention_runs": (1, 100_000), "retention_days": (1, 3650)}


def load() -> dict[str, Any]:
    """The settings in force: the host's stored ones over our defaults; a broken value falls back."""
    from helpers import plugins

    try:
        return checked(plugins.get_plugin_config(paths.PLUGIN) or {})
    except ValueError as error:
        notify.write(f"{error} The defaults are used.")
        return dict(DEFAULTS)


def checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return complete settings, or raise ValueError that names the setting and what is allowed."""
    result = {**DEFAULTS, **{key: value for key, value in values.items() if key in DEFAULTS}}
    if result["backend"] != "sqlite":
        raise ValueError("backend must be sqlite.")
    for name, (low, high) in _NUMBERS.items():
        value = result[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{name} must be a whole number from {low} to {high}.")
    return result
