"""The switch of our plugin: set in the host's page, laid by hand as a file, or gone with the folder.

It hears of a change and refuses one that may not be; how the plugin comes into force and out of it is `lifecycle`.
"""

from __future__ import annotations

from typing import Any

from . import anchor, edition, heartbeat, lifecycle, notify, paths, watching


def toggle_start(data: dict[str, Any]) -> None:
    """Switching off: running runs refuse it, held ones are named once."""
    name, enabled, scoped = _toggle(data)
    if name != paths.PLUGIN or enabled:
        return
    try:
        if scoped:
            _refuse_while_at_work(*scoped)
        else:
            lifecycle.deactivate()
    except lifecycle.StillRunning as error:
        notify.toast("Durable Execution stays on while chats are running", error.titles)
        refusal = notify.stopped(str(error))
        refusal.__cause__ = error
        data["exception"] = refusal


def _refuse_while_at_work(project: str, profile: str) -> None:
    """For a project or a profile nothing is taken out of force: its agents' hooks are not called any more, also in the middle of a turn."""
    active = anchor.active()
    if active is not None and (running := heartbeat.of_scope(active, project, profile)):
        raise lifecycle.StillRunning(lifecycle.titles(active, running))


def toggle_answered(data: dict[str, Any]) -> None:
    """Let the page show a refusal as the sentence it is, not as a failure with a traceback."""
    error = data["exception"]
    if error is not None and isinstance(error.__cause__, lifecycle.StillRunning):
        data["exception"], data["result"] = None, {"ok": False, "error": str(error)}


def toggle_end(data: dict[str, Any]) -> None:
    name, enabled, scoped = _toggle(data)
    if name == paths.PLUGIN and enabled and not scoped and data["exception"] is None:
        lifecycle.activate_if_due(again=True)
        if why := anchor.holder().why_not:
            notify.toast("Durable Execution is switched on but not active", [why["text"], *why["files"]])


def plugins_changing(data: dict[str, Any]) -> None:
    """A `.toggle-0` was laid by hand: after this moment the host calls no hook of ours."""
    if not paths.is_switched_on():
        lifecycle.switched_off_by_hand()


def plugins_changed(data: dict[str, Any]) -> None:
    """Some plugin changed; ours may have been switched by a file, or updated in place."""
    edition.files_changed()
    if anchor.active() is not None:
        if not paths.is_switched_on():
            lifecycle.switched_off_by_hand()
        return
    if paths.is_switched_on():
        lifecycle.activate_if_due(again=True)


def plugin_leaving(data: dict[str, Any]) -> None:
    """Our plugin is being uninstalled or deleted: the data stays, everything else is undone."""
    args, kwargs = data["args"], data["kwargs"]
    name = args[0] if args else kwargs.get("plugin_name")
    if name == paths.PLUGIN:
        lifecycle.leave()


def tick(data: dict[str, Any]) -> None:
    """Once a minute: take up a switch or an update that was made by hand, and try again what may have passed."""
    if not paths.is_switched_on():
        lifecycle.switched_off_by_hand()
        return
    edition.files_changed()
    if (active := anchor.active()) is not None:
        watching.look(active)
    why = anchor.holder().why_not
    active = lifecycle.activate_if_due(again=why is not None and why["code"] in lifecycle.MAY_PASS)
    if active is not None:
        active.by_clock.set(True)
        active.upkeep.tick(active)


def _toggle(data: dict[str, Any]) -> tuple[str, bool, tuple[str, str] | None]:
    """Which plugin is switched, on or off, and for which project or profile if not for all."""
    args, kwargs = data["args"], data["kwargs"]
    values = dict(zip(("plugin_name", "enabled", "project_name", "agent_profile"), args, strict=False)) | kwargs
    scope = str(values.get("project_name") or ""), str(values.get("agent_profile") or "")
    return values["plugin_name"], bool(values["enabled"]), scope if any(scope) else None
