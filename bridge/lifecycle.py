"""On and off, in one screen: the order of activation and deactivation.

On:  switched on → host pinned → code loaded is the code on disk → journal open → adapters → in force.
Off: running runs refuse → adapters undone and verified → journal closed → out of force.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from ..journal import backup, restore
from ..journal.errors import JournalError, NotAllowed
from ..journal.masking import Masker
from ..journal.service import Journal
from . import (
    advice,
    anchor,
    deliveries,
    documents,
    edition,
    endings,
    errands,
    heartbeat,
    jobs,
    launching,
    notify,
    overrides,
    paths,
    policies,
    preflight,
    queue,
    quiet,
    restarts,
    resume,
    secrets,
    settings,
    tasks,
    watching,
)
from .activation import Activation
from .admission import already_shown
from .handlers import HANDLERS
from .session import Session
from .undo import UndoLog

MAY_PASS = {"store_locked", "store_full", "store_lost", "store_closed", "commit_timeout"}  # looked at again, once a minute


# -- on ----------------------------------------------------------------------------------


def _prepare(*, live: bool) -> Activation | None:
    """Make an activation, or remember why not and change nothing. Whatever goes wrong, the host goes on."""
    if not paths.is_switched_on():
        anchor.holder().why_not = None
        return None
    try:
        active = _make(live=live)
        anchor.holder().why_not = None
        return active
    except _NotReady as why:
        _refuse(why.code, why.files, why.text)
    except JournalError as error:
        _refuse(error.code, [], f"The journal could not be opened. {error}")
    except Exception as error:
        _fault(error)
    return None


def _make(*, live: bool) -> Activation:
    edition.files_changed()
    if edition.is_outdated():
        raise _NotReady("restart_needed", [], edition.RESTART)
    verdict = preflight.inspect_host(paths.host_root(), loaded=live)
    if not verdict.ok:
        raise _NotReady(verdict.code, verdict.files, verdict.text)
    config = settings.load()
    files = watching.own_files(), watching.pinned_files(verdict.label)
    boot = {"plugin": edition.VERSION, "host": verdict.label, "live": live, "memory": endings.memory()}
    masker = Masker(lambda: list(secrets.known()))
    journal = Journal.open(paths.data_folder(), masker=masker, boot=boot, allowlist=policies.POLICIES, other_heads=paths.other_heads())
    notify.journal_opened(journal)
    pins = {**(verdict.replay or {}), **policies.own_pins()}
    active = Activation(journal, verdict.label, pins, live, edition.CODE, config, HANDLERS, *files, _undo_log())
    active.on_release = lambda run: jobs.released(active, run)
    active.on_served = lambda: _served(active)
    active.on_put_back = put_back
    journal.permission_now = lambda call: policies.permission_now(active, call)
    try:
        active.late = overrides.install(paths.ROOT / "overrides", _Journaled(), active.undo)
    except Exception as error:  # whatever a changed host makes of it: undone already, and said
        _take_back(active)
        raise _NotReady("adapter_mismatch", [str(error)], "Durable Execution did not start: a host function differs.") from error
    return active


def _served(active: Activation) -> None:
    restarts.watch(active)
    errands.start(active)


class _NotReady(Exception):
    """The plugin must not be put in force, for a reason that a person can read."""

    def __init__(self, code: str, files: list[str], text: str) -> None:
        super().__init__(text)
        self.code, self.files, self.text = code, files, text


def _undo_log() -> UndoLog:
    """A new one, or that of an earlier time whose wrappers another plugin sits on."""
    holder = anchor.holder()
    undo, holder.left_on = holder.left_on or UndoLog(), None
    undo.undo()
    return undo


def _scan(active: Activation) -> list[Session] | None:
    """Take up the unfinished runs, or give the activation up: a journal that cannot be read must not stop the host."""
    try:
        ready = resume.scan(active)
        documents.tell_all(active)
        return ready
    except Exception as error:
        _take_back(active)
        if isinstance(error, JournalError):
            _refuse(error.code, [], f"The journal could not be read. {error}")
        else:
            _fault(error)
    return None


class _Journaled:
    """What override files may use; looked up at call time, since they outlive an activation."""

    @staticmethod
    def job_name() -> str:
        return jobs.job_name()

    @staticmethod
    async def start_jobs(original: Any, agent: Any, calls: list[Any]) -> Any:
        active = anchor.active()
        return await (jobs.start(active, original, agent, calls) if active else original(agent, calls))

    @staticmethod
    async def run_job(original: Any, parent_context_id: str, job: Any) -> Any:
        active = anchor.active()
        return await (jobs.run(active, original, parent_context_id, job) if active else original(parent_context_id, job))

    @staticmethod
    async def await_jobs(original: Any, agent: Any, job_ids: list[str], timeout: int, *, collect: bool, wait: bool) -> Any:
        active = anchor.active()
        if active is None:
            return await original(agent, job_ids, timeout, collect=collect, wait=wait)
        return await jobs.wait_for(active, original, agent, job_ids, timeout, collect=collect, wait=wait)

    @staticmethod
    async def cancel_jobs(original: Any, agent: Any, job_ids: list[str]) -> Any:
        active = anchor.active()
        return await (jobs.cancel(active, original, agent, job_ids) if active else original(agent, job_ids))

    @staticmethod
    def already_shown(ctx: Any, message: str, attachments: list[str], ident: str | None, source: str) -> bool:
        active = anchor.active()
        anew = bool(source) and queue.sending.get() is None  # an integration's own bubble
        return bool(active and not anew and (queue.is_drawn(ctx) or already_shown(active, ctx, message, attachments, ident)))

    @staticmethod
    def queued_id(ident: str | None) -> str | None:
        sent = queue.sending.get()
        return ident if sent is None else sent.input_id

    @staticmethod
    def queued_before(ctx: Any, ident: str | None, text: str) -> dict[str, Any] | None:
        active = anchor.active()
        return None if active is None else queue.known(active, ctx, ident, text)

    @staticmethod
    def queue_added(ctx: Any, item: dict[str, Any]) -> None:
        if (active := anchor.active()) is not None:
            queue.added(active, ctx, item)

    @staticmethod
    def queue_changed(ctx: Any) -> None:
        if anchor.active() is not None:
            queue.save(ctx)

    @staticmethod
    def sending(ctx: Any, items: list[dict[str, Any]] | None) -> AbstractContextManager[None]:
        active = anchor.active()
        if active is None:
            return nullcontext()
        return queue.on_their_way(active, ctx, queue.all_of(ctx) if items is None else items)

    @staticmethod
    def hooks(point: str, agent: Any, found: list[Any]) -> list[Any]:
        active = anchor.active()
        return found if active is None else quiet.hooks(active, point, agent, found)

    @staticmethod
    async def deliver(sender: str, original: Callable[..., Awaitable[Any]], ctx: Any, text: str, *rest: Any) -> Any:
        active = anchor.active()
        if active is None:
            return await original(ctx, text, *rest)
        return await deliveries.deliver(active, sender, original, ctx, text, *rest)

    @staticmethod
    async def heard(effect: Awaitable[Any]) -> Any:
        try:
            return await effect
        except Exception as error:
            deliveries.hear(error)
            raise

    hear = staticmethod(deliveries.hear)
    check_silence = staticmethod(deliveries.check_silence)

    @staticmethod
    def server_made() -> None:
        active = anchor.active()
        if active is not None:
            restarts.watch(active)

    @staticmethod
    def before_restart() -> None:
        restarts.before_restart()


def _refuse(code: str, files: list[str], text: str) -> None:
    text = advice.with_next(code, text)
    anchor.holder().why_not = {"code": code, "files": files, "text": text}
    notify.write(f"{text} {' '.join(files)}".rstrip())


def _fault(error: Exception) -> None:
    places = "".join(traceback.format_tb(error.__traceback__))  # not its words: they may quote a secret
    notify.write(f"{type(error).__name__}\n{places}")
    _refuse("internal", [], f"Durable Execution did not start: {type(error).__name__}. The server's output says where.")


# -- moments of the host -------------------------------------------------------------------


def host_starting(data: dict[str, Any]) -> None:
    """Before chats, scheduler and server: everything that may write a file or refuse happens here."""
    try:
        preflight.import_everything()
    except Exception as error:  # a half updated plugin
        _fault(error)
        return
    holder = anchor.holder()
    with holder.lock:
        holder.activation = holder.activation or _prepare(live=False)


def chats_loaded(data: dict[str, Any]) -> None:
    """Chats are in memory, the scheduler has not ticked: rebuild them and put holds in force."""
    holder = anchor.holder()
    active = holder.activation
    if active is None or active.live:
        return
    ready = _scan(active)
    if ready is None:
        holder.activation = None
        return
    holder.ready = ready
    tasks.take_back(active)
    queue.drop_sent(active)
    active.by_clock.set(True)  # the job loop that the host starts now runs in a copy of this context


def host_up(data: dict[str, Any]) -> None:
    """The host is initialised and not serving yet: start a thread and return."""
    active = anchor.active()
    holder = anchor.holder()
    ready, holder.ready = holder.ready, []
    if active is not None:
        active.by_clock.set(False)
        launching.start(active, ready, partial(jobs.resume_all, active))


def activate_if_due(*, again: bool = False) -> Activation | None:
    """Switched on in a running host: holds in force, nothing rebuilt, running chats left alone."""
    holder = anchor.holder()
    with holder.lock:
        if holder.activation is not None or (holder.why_not is not None and not again):
            return holder.activation
        active = _prepare(live=True)
        if active is None:
            return None
        _protect_from_next_message(active)
        ready = _scan(active)
        if ready is None:
            return None
        holder.activation = active  # only now: no message comes in between
    launching.start(active, ready, partial(jobs.resume_all, active))
    return active


def _protect_from_next_message(active: Activation) -> None:
    from agent import AgentContext

    for ctx in AgentContext.all():
        if ctx.is_running():
            active.unprotected.add(ctx.id)


def tick(data: dict[str, Any]) -> None:
    """Once a minute: take up a switch or an update that was made by hand, and try again what may have passed."""
    if not paths.is_switched_on():
        switched_off_by_hand()
        return
    edition.files_changed()
    if (active := anchor.active()) is not None:
        watching.look(active)
    why = anchor.holder().why_not
    active = activate_if_due(again=why is not None and why["code"] in MAY_PASS)
    if active is not None:
        active.by_clock.set(True)
        active.upkeep.tick(active)


def toggle_start(data: dict[str, Any]) -> None:
    """Switching off: running runs refuse it, held ones are named once."""
    name, enabled, scoped = _toggle(data)
    if name != paths.PLUGIN or enabled:
        return
    try:
        if scoped:
            _refuse_while_at_work(*scoped)
        else:
            deactivate()
    except StillRunning as error:
        notify.toast("Durable Execution stays on while chats are running", error.titles)
        refusal = notify.stopped(str(error))
        refusal.__cause__ = error
        data["exception"] = refusal


def _refuse_while_at_work(project: str, profile: str) -> None:
    """For a project or a profile nothing is taken out of force: its agents' hooks are not called any more, also in the middle of a turn."""
    active = anchor.active()
    if active is not None and (running := heartbeat.of_scope(active, project, profile)):
        raise StillRunning(_titles(active, running))


def toggle_answered(data: dict[str, Any]) -> None:
    """Let the page show a refusal as the sentence it is, not as a failure with a traceback."""
    error = data["exception"]
    if error is not None and isinstance(error.__cause__, StillRunning):
        data["exception"], data["result"] = None, {"ok": False, "error": str(error)}


def toggle_end(data: dict[str, Any]) -> None:
    name, enabled, scoped = _toggle(data)
    if name == paths.PLUGIN and enabled and not scoped and data["exception"] is None:
        activate_if_due(again=True)
        if why := anchor.holder().why_not:
            notify.toast("Durable Execution is switched on but not active", [why["text"], *why["files"]])


def plugins_changing(data: dict[str, Any]) -> None:
    """A `.toggle-0` was laid by hand: after this moment the host calls no hook of ours."""
    if not paths.is_switched_on():
        switched_off_by_hand()


def plugins_changed(data: dict[str, Any]) -> None:
    """Some plugin changed; ours may have been switched by a file, or updated in place."""
    edition.files_changed()
    if anchor.active() is not None:
        if not paths.is_switched_on():
            switched_off_by_hand()
        return
    if paths.is_switched_on():
        activate_if_due(again=True)


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


def _toggle(data: dict[str, Any]) -> tuple[str, bool, tuple[str, str] | None]:
    """Which plugin is switched, on or off, and for which project or profile if not for all."""
    args, kwargs = data["args"], data["kwargs"]
    values = dict(zip(("plugin_name", "enabled", "project_name", "agent_profile"), args, strict=False)) | kwargs
    scope = str(values.get("project_name") or ""), str(values.get("agent_profile") or "")
    return values["plugin_name"], bool(values["enabled"]), scope if any(scope) else None


# -- off -----------------------------------------------------------------------------------


class StillRunning(Exception):
    """The plugin cannot be switched off while it records running chats."""

    def __init__(self, titles: list[str]) -> None:
        super().__init__(f"Durable Execution stays on: {len(titles)} chat(s) are running. Wait or stop them, then switch it off.")
        self.titles = titles


def put_back(name: str) -> dict[str, Any]:
    """Put a backup in the journal's place: out of force, restored, in force again. Every unfinished run then waits.

    Refused while chats run, or where the backup is not whole; then nothing was changed.
    """
    holder = anchor.holder()
    with holder.lock:
        backup.verify(backup.find(paths.data_folder(), name))
        try:
            deactivate(told=False)
        except StillRunning as error:
            count = len(error.titles)
            raise NotAllowed(f"{count} {'chat is' if count == 1 else 'chats are'} running. Wait or stop them first.") from error
        try:
            done = restore.restore(paths.data_folder(), name, other_heads=paths.other_heads())
        finally:
            activate_if_due(again=True)
    service = anchor.service()
    after = service.safety() if service is not None else {}
    return {"restored": {"name": done.backup, "aside": str(done.aside), "held": done.held}, **after}


def deactivate(*, by_hand: bool = False, told: bool = True) -> None:
    """Take the plugin out of force. By hand also while chats run: their wrappers pass through from now on."""
    holder = anchor.holder()
    with holder.lock:
        active = holder.activation
        if active is None:
            return
        running = active.running()
        if running and not by_hand:
            raise StillRunning(_titles(active, running))
        unfinished = active.every()
        active.closed = True
        for session in unfinished:
            resume.remember_chat(active, session)
            session.say("off" if session in running else "held")
        _take_back(active)
        holder.activation, holder.why_not = None, None
    if unfinished and told:
        text = "Durable Execution is off. These chats have unfinished runs that nothing protects now"
        notify.toast(text, _titles(active, unfinished))


def _titles(active: Activation, sessions: Iterable[Session]) -> list[str]:
    return [active.journal.masker.text(session.run.title) for session in sessions]


def _take_back(active: Activation) -> None:
    """Clear what chats show, undo the adapters, verified, and close the journal."""
    for session in active.every():
        if (ctx := session.context()) is not None:
            notify.no_badge(ctx)
    documents.untell_all()
    if stuck := active.undo.undo():
        anchor.holder().left_on = active.undo
        notify.write(f"Another plugin sits on these host functions, so they pass through and were not put back: {', '.join(stuck)}")
    active.checkup.stop()
    active.upkeep.stop()
    active.journal.close()


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
    return {"active": False, "why_not": why, "backend": "sqlite", "schema": None, "holds": 0, "version": edition.VERSION}
