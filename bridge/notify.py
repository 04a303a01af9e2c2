"""What a chat says about its run: warnings, the badge, the line above the input.

Texts go through the host's log, which masks and draws them as text. Toasts of the
host are written as HTML: only our own fixed sentences, and escaped titles, go there.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from ..journal.records import Hold, HoldReason, Run
from ..journal.restoring import FOUND
from . import agents

if TYPE_CHECKING:
    from ..journal.service import Journal
    from .activation import Activation
    from .session import Session

BADGE = "_durable_execution"  # in output_data; the underscore keeps it out of chat.json
AT_WORK = "_durable_run"
TITLE = "Durable Execution"
HELD_ANSWER = "This chat is on hold and waits for a decision. Open Recovery in the sidebar. Nothing was repeated."
SUSPENDED = "Agent Zero is about to restart. This chat was suspended and goes on by itself afterwards. Nothing is lost."
KEPT = "Your message was saved. It is delivered when this run goes on."
STILL_RUNNING = "A command may still be running: check before you decide."
MAY_HAVE_ARRIVED = "This reply was being sent: look whether it arrived before you decide."


def why_waiting(active: Activation, session: Session) -> str:
    """What somebody is told who wants a chat to go on that waits."""
    return SUSPENDED if active.suspension is not None and session.run.hold is None else HELD_ANSWER


def write(text: str) -> None:
    """A line in the host's own output."""
    from helpers.print_style import PrintStyle

    PrintStyle.warning(f"{TITLE}: {text}")


def journal_opened(journal: Journal) -> None:
    """What the opening found out about the journal and its place."""
    for text in [*([put_back(journal)] if journal.restored else []), *journal.notes]:
        write(text)


def put_back(journal: Journal) -> str:
    """That the journal was put back, and what follows; empty if it was not."""
    if journal.restored is None:
        return ""
    return f"{FOUND[journal.restored.reason]} What was done since is not recorded in it, so every unfinished run waits for your decision."


def stopped(text: str) -> Exception:
    """The exception that leaves the host's loop without a retry and without a traceback."""
    from helpers.errors import HandledException

    silent: Exception = HandledException(text)
    return silent


def held(session: Session, hold: Hold) -> None:
    """Warn in the chat, set the badge and the line above the input. A job that waits is seen in its parent's chat, too."""
    from agent import AgentContext

    text = hold_text(session, hold)
    for ctx in filter(None, map(AgentContext.get, session.shown_in())):
        _held(session, hold, ctx, text)
    refresh()


def held_beside(active: Activation, ctx: Any) -> None:
    """A chat was made anew: say again which jobs of it wait."""
    for session in active.every():
        hold = session.run.hold
        if session.child is not None and hold is not None and ctx.id in session.shown_in():
            _held(session, hold, ctx, hold_text(session, hold))


def _held(session: Session, hold: Hold, ctx: Any, text: str) -> None:
    if not text:
        return
    ident = f"durable-hold-{session.run.run_id}-{hold.call_id or hold.reason.value}"
    if not any(item.id == ident and item.content == text for item in ctx.log.logs):  # said once, however often it crashes there
        warn(ctx, "Waiting for your decision", text, ident)
    badge(ctx, session.run, text, hold.since)
    ctx.log.set_progress("On hold: open Recovery to decide", 0, False)


def hold_text(session: Session, hold: Hold) -> str:
    """What the warning says: the step, what is known, what to do. Nothing where the run was decided a moment ago."""
    view = session.activation.journal.run_view(session.run.run_id)
    if view["run"]["reason"] is None:
        return ""
    step = next((call for call in view["calls"] if call["call_id"] == hold.call_id), None)
    job = view["run"]["job"]
    about = f"Job {job['n']} of this chat ({job['name']})." if job else ""
    by = f" of A{agents.number_of(step['path'])}" if step and agents.opened_by(step["path"]) else ""
    parts = [about, f"Step {step['n']}{by}, {step['name']}: {step['summary']}." if step else "", view["run"]["reason"]["text"]]
    if hold.reason is HoldReason.OUTCOME_UNKNOWN:
        parts.append(MAY_HAVE_ARRIVED if step and step["kind"] == "delivery" else STILL_RUNNING)
    parts.append("Open Recovery in the sidebar to decide.")
    return " ".join(part for part in parts if part)


def badge(ctx: Any, run: Run, text: str, since: int) -> None:
    """Set the mark that the web UI reads from the chat's entry."""
    ctx.set_output_data(BADGE, {"state": "held", "run_id": run.run_id, "text": text, "since": since})
    refresh()


def no_badge(ctx: Any) -> None:
    ctx.output_data.pop(BADGE, None)
    refresh()


def suspended(session: Session) -> None:
    """The run waits for the restart."""
    ctx = session.context()
    if ctx is not None:
        ctx.log.set_progress("Suspended: goes on by itself after the restart", 0, False)
        refresh()


def at_work(ctx: Any, run: Run) -> None:
    """The page offers to stop a recorded run; it reads this with the host's next push."""
    ctx.output_data[AT_WORK] = run.run_id


def at_rest(session: Session) -> None:
    ctx = session.context()
    if ctx is not None:
        ctx.output_data.pop(AT_WORK, None)


def released(session: Session, *, going_on: bool = True) -> None:
    """The run goes on, or has ended: no badge, no line, unless another job of the chat waits."""
    from agent import AgentContext

    for ctx in filter(None, map(AgentContext.get, session.shown_in())):
        no_badge(ctx)
        if going_on:
            ctx.log.set_progress("Continuing after your decision", 0, True)
        for other in session.activation.every():
            if other is not session and other.run.hold is not None and ctx.id in other.shown_in():
                _held(other, other.run.hold, ctx, hold_text(other, other.run.hold))


def store(session: Session, problem: str | None) -> None:
    """Say why a step waits for the journal."""
    ctx = session.context()
    if ctx is None:
        return
    if problem is None:
        ctx.log.set_progress("The journal can be written again", 0, True)
    else:
        ident = f"durable-store-{session.run.run_id}"
        if not any(item.id == ident for item in ctx.log.logs):
            text = f"{problem} This step waits and is not lost. It goes on when the journal can be written."
            warn(ctx, "The journal cannot be written", text, ident)
        ctx.log.set_progress(f"Waiting: {problem}", 0, True)
    refresh()


def bubble(ctx: Any, ident: str, text: str, attachments: list[str]) -> None:
    """Draw a person's message unless it stands already."""
    if not any(item.id == ident for item in ctx.log.logs):
        ctx.log.log(type="user", heading="", content=text, kvps={"attachments": attachments}, id=ident)


def warn(ctx: Any, heading: str, text: str, ident: str) -> None:
    ctx.log.log(type="warning", heading=heading, content=text, id=ident)


def inform(ctx: Any, heading: str, text: str) -> None:
    ctx.log.log(type="info", heading=heading, content=text)


def toast(text: str, titles: list[str] | None = None, ident: str = "durable_execution") -> None:
    """A notification of the host; every word that we did not write is escaped."""
    from agent import AgentContext
    from helpers.notification import NotificationPriority, NotificationType

    named = ": " + ", ".join(html.escape(title) for title in titles) if titles else ""
    AgentContext.get_notification_manager().send_notification(
        NotificationType.WARNING, NotificationPriority.HIGH, text + named, TITLE, display_time=15, id=ident
    )


def refresh() -> None:
    from helpers.state_monitor_integration import mark_dirty_all

    mark_dirty_all(reason="durable_execution")
