"""The places where extensions, tools and prompts are looked for, in order of priority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers import files

if TYPE_CHECKING:
    from agent import Agent


def get_paths(agent: Agent | None, *subpaths: str) -> list[str]:
    """Existing paths: the user's own, then the enabled plugins by name, then the host's."""
    from helpers import plugins

    roots = [
        files.get_abs_path(files.USER_DIR),
        *plugins.get_enabled_plugin_paths(agent),
        files.get_base_dir(),
    ]
    paths = [files.get_abs_path(root, *subpaths) for root in roots]
    return [path for path in paths if files.exists(path)]
