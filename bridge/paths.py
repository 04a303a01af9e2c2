"""Where things lie: the plugin, the host, the data. No file is opened here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..journal.store.heads import elsewhere

PLUGIN = "durable_execution"
ROOT = Path(__file__).resolve().parent.parent
_OFF = str(ROOT / ".toggle-0")


def host_root() -> Path:
    """The folder of the host: the plugin lies at usr/plugins/<name> below it."""
    from helpers import files

    return Path(files.get_abs_path(""))


def in_host(file: str) -> str:
    """A file of the host, named from its root; "" for any other."""
    try:
        return Path(file).relative_to(host_root()).as_posix()
    except ValueError:
        return ""


def data_folder() -> Path:
    """The journal's folder, outside the plugin: updates and uninstall never touch it."""
    return host_root() / "usr" / "plugin_data" / PLUGIN


def other_heads() -> tuple[Path, ...]:
    """Where else it is remembered how far the journal has come."""
    return elsewhere(data_folder())


def is_switched_on() -> bool:
    """Read the toggle files themselves: a cache of the host may be behind a hand's change. Asked by each hook."""
    return not os.path.exists(_OFF)  # noqa: PTH110 - a quarter of the time of a Path


def is_switched_on_for(agent: Any) -> bool:
    """Whether the host calls our hooks for this agent: a project or a profile may have the plugin switched off for itself."""
    from helpers import plugins

    return PLUGIN in plugins.get_enabled_plugins(agent)
