"""On and off, in one screen: the order of activation and deactivation.

On:  switched on → host pinned → code loaded is the code on disk → journal open → adapters → in force.
Off: running runs refuse → adapters undone and verified → journal closed → out of force.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from functools import partial
from typing import Any

from ..journal import backup, restore
from ..journal.errors import JournalError, NotAllowed
from ..journal.masking import Masker
from ..journal.service import Journal
from . import (
    advice,
    anchor,
    documents,
    edition,
    endings,
    errands,
    jobs,
    launching,
    notify,
    overrides,
    paths,
    policies,
    preflight,
    queue,
    restarts,
    resume,
    secrets,
    settings,
    tasks,
    watching,
)
from .activation import Activation
from .handlers import HANDLERS
from .journaled import Journaled
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
        active.late = overrides.install(paths.ROOT / "overrides", Journaled(), active.undo)
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
        active.is_host_up = True
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


def leave() -> None:
    """Take everything back before our folder goes."""
    deactivate()
    anchor.forget()


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
            raise StillRunning(titles(active, running))
        unfinished = active.every()
        active.closed = True
        for session in unfinished:
            resume.remember_chat(active, session)
            session.say("off" if session in running else "held")
        _take_back(active)
        holder.activation, holder.why_not = None, None
    if unfinished and told:
        text = "Durable Execution is off. These chats have unfinished runs that nothing protects now"
        notify.toast(text, titles(active, unfinished))


def titles(active: Activation, sessions: Iterable[Session]) -> list[str]:
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
