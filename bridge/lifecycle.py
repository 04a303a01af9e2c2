"""On and off, in one screen: the order of activation and deactivation.

On:  switched on → host pinned → code loaded is the code on disk → journal open → adapters → in force.
Off: running runs refuse → adapters undone and verified → journal closed → out of force.
"""

from __future__ import annotations

from typing import Any

from ..journal.errors import JournalError
from ..journal.masking import Masker
from ..journal.service import Journal
from . import anchor, notify, overrides, paths, preflight, resume, secrets, settings
from .activation import Activation
from .admission import already_shown

VERSION = "0.1.0"
CODE = preflight.code_digest()  # of the files that this process loaded
RESTART = "Agent Zero must restart before new work is recorded: the plugin's files changed after they were loaded."


# -- on ----------------------------------------------------------------------------------


def activate(*, live: bool) -> Activation | None:
    """Put the plugin in force, or remember why not and change nothing."""
    holder = anchor.holder()
    if holder.activation is not None:
        return holder.activation
    holder.why_not = None
    if not paths.is_switched_on():
        return None
    files_changed()
    if is_outdated():
        _refuse("restart_needed", [], RESTART)
        return None
    verdict = preflight.inspect_host(paths.host_root(), loaded=live)
    if not verdict.ok:
        _refuse(verdict.code, verdict.files, verdict.text)
        return None
    try:
        journal = Journal.open(
            paths.data_folder(),
            masker=Masker(lambda: list(secrets.known())),
            boot={"plugin": VERSION, "host": verdict.label, "live": live},
        )
    except (JournalError, OSError) as error:
        _refuse(getattr(error, "code", "unavailable"), [], f"The journal could not be opened. {error}")
        return None
    from .dispatcher import HANDLERS

    active = Activation(journal, verdict.label, verdict.replay or {}, live, CODE, settings.load(), HANDLERS)
    active.on_release = lambda run: resume.released(active, run)
    try:
        overrides.install(paths.ROOT / "overrides", _Journaled(), active.undo)
    except Exception as error:  # whatever a changed host makes of it: undone already, and said
        journal.close()
        _refuse("adapter_mismatch", [str(error)], "Durable Execution did not start: a host function differs.")
        return None
    holder.activation = active
    return active


class _Journaled:
    """What override files may use; looked up at call time, since they outlive an activation."""

    @staticmethod
    def already_shown(ctx: Any, message: str, attachments: list[str], ident: str | None, source: str) -> bool:
        active = anchor.active()
        return bool(active and not source and already_shown(active, ctx, message, attachments, ident))


def _refuse(code: str, files: list[str], text: str) -> None:
    anchor.holder().why_not = {"code": code, "files": files, "text": text}
    notify.write(f"{text} {' '.join(files)}".rstrip())


def is_outdated() -> bool:
    """Other code is in force than the code on disk: guard mode until the restart."""
    holder = anchor.holder()
    active: Activation | None = holder.activation
    return bool(holder.outdated) or (active is not None and active.code != CODE)


def files_changed() -> None:
    """Compare our files on disk with what is loaded; after an update they may differ."""
    anchor.holder().outdated = preflight.code_digest() != CODE


# -- moments of the host -------------------------------------------------------------------


def host_starting(data: dict[str, Any]) -> None:
    """Before chats, scheduler and server: everything that may write a file or refuse happens here."""
    preflight.import_everything()
    activate(live=False)


def chats_loaded(data: dict[str, Any]) -> None:
    """Chats are in memory, the scheduler has not ticked: rebuild them and put holds in force."""
    active = anchor.active()
    if active is not None and not active.live:
        anchor.holder().ready = resume.scan(active)


def host_up(data: dict[str, Any]) -> None:
    """The host is initialised and not serving yet: start a thread and return."""
    active = anchor.active()
    holder = anchor.holder()
    ready, holder.ready = holder.ready, []
    if active is not None and ready:
        resume.start_launching(active, ready)


def activate_if_due() -> Activation | None:
    """Switched on in a running host: holds in force, nothing rebuilt, running chats left alone."""
    holder = anchor.holder()
    if holder.activation is not None or holder.why_not is not None:
        return holder.activation
    active = activate(live=True)
    if active is not None:
        _protect_from_next_message(active)
        for session in resume.scan(active):
            resume.launch(session)
    return active


def _protect_from_next_message(active: Activation) -> None:
    from agent import AgentContext

    for ctx in AgentContext.all():
        if ctx.is_running():
            active.unprotected.add(ctx.id)


def tick(data: dict[str, Any]) -> None:
    """Once a minute: take up a switch that was made by hand."""
    if not paths.is_switched_on():
        switched_off_by_hand()
    else:
        activate_if_due()


def toggle_start(data: dict[str, Any]) -> None:
    """Switching off: running runs refuse it, held ones are named once."""
    name, enabled, scoped = _toggle(data)
    if name != paths.PLUGIN or enabled or scoped:
        return
    try:
        deactivate()
    except StillRunning as error:
        notify.toast("Durable Execution stays on while chats are running", error.titles)
        data["exception"] = notify.stopped(str(error))


def toggle_end(data: dict[str, Any]) -> None:
    name, enabled, scoped = _toggle(data)
    if name == paths.PLUGIN and enabled and not scoped and data["exception"] is None:
        anchor.holder().why_not = None
        activate_if_due()


def plugins_changed(data: dict[str, Any]) -> None:
    """Some plugin changed; ours may have been switched by a file, or updated in place."""
    files_changed()
    if anchor.active() is not None:
        if not paths.is_switched_on():
            switched_off_by_hand()
        return
    if paths.is_switched_on():
        anchor.holder().why_not = None
        activate_if_due()


def plugin_leaving(data: dict[str, Any]) -> None:
    """Our plugin is being uninstalled or deleted: the data stays, everything else is undone."""
    args, kwargs = data["args"], data["kwargs"]
    name = args[0] if args else kwargs.get("plugin_name")
    if name == paths.PLUGIN:
        leave()


def leave() -> None:
    """Take everything back before our folder goes."""
    deactivate()
    anchor.forget()


def _toggle(data: dict[str, Any]) -> tuple[str, bool, bool]:
    args, kwargs = data["args"], data["kwargs"]
    values = dict(zip(("plugin_name", "enabled", "project_name", "agent_profile"), args, strict=False)) | kwargs
    return values["plugin_name"], bool(values["enabled"]), bool(values.get("project_name") or values.get("agent_profile"))


# -- off -----------------------------------------------------------------------------------


class StillRunning(Exception):
    """The plugin cannot be switched off while it records running chats."""

    def __init__(self, titles: list[str]) -> None:
        super().__init__(f"Durable Execution stays on: {len(titles)} chat(s) are running. Wait or stop them, then switch it off.")
        self.titles = titles


def deactivate(*, by_hand: bool = False) -> list[str]:
    """Take the plugin out of force; returns the adapters that another plugin sits on."""
    holder = anchor.holder()
    active: Activation | None = holder.activation
    if active is None:
        return []
    running = active.running()
    if running and not by_hand:
        raise StillRunning([session.run.title for session in running])
    held = [session.run.title for session in active.sessions.values()]
    active.closed = True
    stuck = active.undo.undo()
    for session in list(active.sessions.values()):
        if (ctx := session.context()) is not None:
            notify.badge(ctx, session.run, None)
        session.say("held")
    active.journal.close()
    holder.activation, holder.why_not = None, None
    if held:
        notify.toast("Durable Execution is off. These chats have unfinished runs that nothing protects now", held)
    return stuck


def switched_off_by_hand() -> None:
    """A `.toggle-0` appeared without the host's switch: pass through and undo."""
    if anchor.active() is not None:
        deactivate(by_hand=True)


def status() -> dict[str, Any]:
    """What the panel and scripts read; answers while off as well."""
    holder = anchor.holder()
    active: Activation | None = holder.activation
    if active is not None:
        return active.service.status()
    why = holder.why_not or {"code": "off", "files": [], "text": "Durable Execution is off."}
    return {"active": False, "why_not": why, "backend": "sqlite", "schema": None, "holds": 0, "version": VERSION}
