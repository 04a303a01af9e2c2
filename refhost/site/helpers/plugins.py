"""Plugins: where they lie, which are on, what happens when that changes.

`.toggle-0` beats `.toggle-1`; without either a plugin is on. No hook of a plugin runs on a toggle.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers import cache, extension, files, functions, modules, yaml

if TYPE_CHECKING:
    from agent import Agent

META_FILE_NAME = "plugin.yaml"
CONFIG_FILE_NAME = "config.json"
CONFIG_DEFAULT_FILE_NAME = "default_config.yaml"
DISABLED_FILE_NAME = ".toggle-0"
ENABLED_FILE_NAME = ".toggle-1"
HOOKS_SCRIPT = "hooks.py"
HOOKS_CACHE_AREA = "plugin_hooks(plugins)"
PLUGINS_LIST_CACHE_AREA = "plugins_list(plugins)"
ENABLED_PLUGINS_LIST_CACHE_AREA = "enabled_plugins(plugins)"


@extension.extensible
def after_plugin_change(plugin_names: list[str] | None = None, python_change: bool = False) -> None:
    clear_plugin_cache(plugin_names)
    if python_change:
        refresh_plugin_modules(plugin_names)


def refresh_plugin_modules(plugin_names: list[str] | None = None) -> None:
    """Forgets the modules of all user plugins, not only of the changed one."""
    modules.purge_namespace("usr.plugins")


def clear_plugin_cache(plugin_names: list[str] | None = None) -> None:
    for area in ("*(plugins)*", "*(extensions)*", "*(api)*"):
        cache.clear(area)


def get_plugin_roots(plugin_name: str = "") -> list[str]:
    return [
        files.get_abs_path(files.USER_DIR, files.PLUGINS_DIR, plugin_name),
        files.get_abs_path(files.PLUGINS_DIR, plugin_name),
    ]


def get_plugins_list() -> list[str]:
    names = cache.get(PLUGINS_LIST_CACHE_AREA, "")
    if names is None:
        folders = [entry for root in get_plugin_roots() if Path(root).is_dir() for entry in Path(root).iterdir()]
        found = {folder.name for folder in folders if (folder / META_FILE_NAME).is_file()}
        names = sorted(name for name in found if not name.startswith("."))
        cache.add(PLUGINS_LIST_CACHE_AREA, "", names)
    return names


def find_plugin_dir(plugin_name: str) -> str | None:
    """Says nothing about the plugin being on."""
    roots = get_plugin_roots(plugin_name) if plugin_name else []
    return next((root for root in roots if files.exists(root, META_FILE_NAME)), None)


def get_plugin_meta(plugin_name: str) -> dict[str, Any] | None:
    folder = find_plugin_dir(plugin_name)
    return yaml.loads(files.read_file(f"{folder}/{META_FILE_NAME}")) if folder else None


def get_enabled_plugins(agent: Agent | None) -> list[str]:
    key = cache.determine_cache_key(agent)
    active = cache.get(ENABLED_PLUGINS_LIST_CACHE_AREA, key)
    if active is None:
        active = [name for name in get_plugins_list() if _is_on(name, agent)]
        cache.add(ENABLED_PLUGINS_LIST_CACHE_AREA, key, active)
    return active


def _is_on(name: str, agent: Agent | None) -> bool:
    """What a project says counts before what is said for all."""
    project = agent.context.get_data("project") if agent else ""
    own = _project_folder(name, project) if project else ""
    if own and (files.exists(own, DISABLED_FILE_NAME) or files.exists(own, ENABLED_FILE_NAME)):
        return not files.exists(own, DISABLED_FILE_NAME)
    return get_toggle_state(name) == "enabled"


def _project_folder(name: str, project: str) -> str:
    return files.get_abs_path(files.USER_DIR, "projects", project, ".a0proj", files.PLUGINS_DIR, name)


def get_enabled_plugin_paths(agent: Agent | None, *subpaths: str) -> list[str]:
    folders = [find_plugin_dir(name) for name in get_enabled_plugins(agent)]
    paths = [files.get_abs_path(folder, *subpaths) for folder in folders if folder]
    return [path for path in paths if files.exists(path)]


def get_toggle_state(plugin_name: str) -> str:
    enabled = True
    for root in reversed(get_plugin_roots(plugin_name)):
        enabled = not files.exists(root, DISABLED_FILE_NAME) if enabled else files.exists(root, ENABLED_FILE_NAME)
    return "enabled" if enabled else "disabled"


@extension.extensible
def toggle_plugin(
    plugin_name: str,
    enabled: bool,
    project_name: str = "",
    agent_profile: str = "",
    clear_overrides: bool = False,
) -> None:
    everywhere = files.get_abs_path(files.USER_DIR, files.PLUGINS_DIR, plugin_name)
    folder = _project_folder(plugin_name, project_name) if project_name else everywhere
    for name in (ENABLED_FILE_NAME, DISABLED_FILE_NAME):
        files.delete_file(f"{folder}/{name}")
    files.write_file(f"{folder}/{ENABLED_FILE_NAME if enabled else DISABLED_FILE_NAME}", "")
    after_plugin_change([plugin_name])


@extension.extensible
def uninstall_plugin(plugin_name: str) -> None:
    call_plugin_hook(plugin_name, "uninstall")
    delete_plugin(plugin_name)


@extension.extensible
def delete_plugin(plugin_name: str) -> None:
    folder = find_plugin_dir(plugin_name)
    if not folder:
        raise FileNotFoundError(f"There is no plugin {plugin_name}.")
    if not files.is_in_dir(folder, f"{files.USER_DIR}/{files.PLUGINS_DIR}"):
        raise ValueError("The host's own plugins stay.")
    python_change = any(Path(folder).rglob("*.py"))
    files.delete_dir(folder)
    after_plugin_change([plugin_name], python_change=python_change)


@extension.extensible
def get_plugin_config(
    plugin_name: str,
    agent: Agent | None = None,
    project_name: str | None = None,
    agent_profile: str | None = None,
) -> Any:
    """Read from the file at every call. A saved file replaces the defaults as a whole."""
    folder = find_plugin_dir(plugin_name)
    if not folder:
        return None
    if project_name is None and agent is not None:
        project_name = agent.context.get_data("project")
    result: Any = None
    saved = find_plugin_asset(plugin_name, CONFIG_FILE_NAME, project_name=project_name or "", agent_profile=agent_profile or "")
    if saved:
        result = json.loads(files.read_file(saved["path"]))
    elif files.exists(folder, CONFIG_DEFAULT_FILE_NAME):
        result = yaml.loads(files.read_file(f"{folder}/{CONFIG_DEFAULT_FILE_NAME}"))
    return call_plugin_hook(
        plugin_name,
        "get_plugin_config",
        default=result,
        agent=agent,
        project_name=project_name,
        agent_profile=agent_profile,
    )


@extension.extensible
def save_plugin_config(plugin_name: str, project_name: str, agent_profile: str, settings: dict[str, Any]) -> None:
    wanted = call_plugin_hook(
        plugin_name,
        "save_plugin_config",
        default=settings,
        project_name=project_name,
        agent_profile=agent_profile,
        settings=settings,
    )
    if wanted is not None:
        files.write_file(_config_file(plugin_name, project_name), json.dumps(wanted))


def find_plugin_asset(plugin_name: str, *subpaths: str, project_name: str = "", agent_profile: str = "") -> dict[str, str] | None:
    """The first place that has it: a project's own, that for all, and the plugin's folder. Profiles have none here."""
    own = [_project_folder(plugin_name, project_name)] if project_name else []
    places = [*own, *get_plugin_roots(plugin_name)]
    found = next((path for place in places if files.exists(path := files.get_abs_path(place, *subpaths))), None)
    return {"project_name": project_name, "agent_profile": agent_profile, "path": found} if found else None


def _config_file(plugin_name: str, project_name: str | None) -> str:
    """Where the settings of a plugin lie: those of a project, or those for all."""
    home = [files.USER_DIR, "projects", project_name, ".a0proj"] if project_name else [files.USER_DIR]
    return files.get_abs_path(*home, files.PLUGINS_DIR, plugin_name, CONFIG_FILE_NAME)


def call_plugin_hook(plugin_name: str, hook_name: str, default: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Calls a function of the plugin's `hooks.py`, which stays loaded until the cache is cleared."""
    if not cache.has(HOOKS_CACHE_AREA, plugin_name):
        folder = find_plugin_dir(plugin_name)
        if not folder:
            return default
        script = f"{folder}/{HOOKS_SCRIPT}"
        cache.add(HOOKS_CACHE_AREA, plugin_name, modules.import_module(script) if files.exists(script) else False)
    hook = getattr(cache.get(HOOKS_CACHE_AREA, plugin_name), hook_name, None)
    if hook is None:
        return default
    if asyncio.iscoroutinefunction(hook):
        return asyncio.run(functions.safe_call(hook, *args, default=default, **kwargs))
    return functions.safe_call(hook, *args, default=default, **kwargs)
