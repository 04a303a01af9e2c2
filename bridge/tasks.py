"""The host's list of scheduled tasks: which occurrence a turn is, and what the list is told about it.

The list's states belong to the host. We only take back what a crash left in it, and hand in results that the host's own
coroutine did not live to hand in. A task never stays "running" for a run that waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..journal.codec import digest
from ..journal.records import Run, RunState
from . import notify, waiting

if TYPE_CHECKING:
    from .activation import Activation
    from .session import Session

TASK = "task"  # in a run's mode: the task that it is an occurrence of
_FILE = "usr/scheduler/tasks.json"
_NEVER_BEGAN = "These scheduled tasks were about to start when Agent Zero ended, and did nothing yet. Run them again if they are due"
_NOT_RECORDED = "These scheduled tasks were running unrecorded when Agent Zero ended. Nothing was run again: look, then run them yourself"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One planned, due or launched time of a task. The same time is the same occurrence, however often it is started (I5)."""

    task: str
    name: str
    at: str

    @property
    def input_id(self) -> str:
        return f"task {self.task} {self.at}"

    @property
    def own_chat(self) -> str:
        """The id of the chat that it gets if its task's chat has an unfinished run."""
        return digest(self.input_id.encode())[:8]


def of_message(active: Activation, chat_id: str, message: Any, *, by_clock: bool) -> tuple[Any, Occurrence] | None:
    """The running task whose turn begins with this message, and the occurrence; None if no task claims it.

    Of tasks that say the same in one chat it is one whose time is not at work yet; where all are, a time is started again.
    """
    from helpers.task_scheduler import TaskScheduler

    at_work = {session.run.input_id for session in active.sessions.values()}
    found = [
        (task, Occurrence(task.uuid, task.name, _moment(task, by_clock=by_clock)))
        for task in TaskScheduler.get().get_tasks_by_context_id(chat_id, only_running=True)
        if task.prompt in message.message and message.system_message == [task.system_prompt]
    ]
    return min(found, key=lambda claim: claim[1].input_id in at_work, default=None)


def _moment(task: Any, *, by_clock: bool) -> str:
    """The planned slot, the due minute, or when it was launched."""
    if (slot := _slot(task)) is not None:
        return slot.astimezone(UTC).isoformat()
    if by_clock and hasattr(task, "schedule"):
        return _due_minute(task).isoformat()
    return str(task.updated_at.astimezone(UTC).isoformat())


def _slot(task: Any) -> datetime | None:
    plan = getattr(task, "plan", None)
    if plan is None:
        return None
    slot: datetime | None = plan.in_progress or plan.should_launch()
    return slot


def _due_minute(task: Any) -> datetime:
    """The host looks back one minute: the task is due in the minute in which it was started, or was so a moment before."""
    from helpers.task_scheduler import CronTab

    started = task.updated_at.astimezone(UTC).replace(second=0, microsecond=0)
    local = _in_zone(started, task.schedule.timezone)
    due = CronTab(crontab=task.schedule.to_crontab()).test(local)
    minute: datetime = started if due else started - timedelta(minutes=1)
    return minute


def _in_zone(moment: datetime, zone: str) -> datetime:
    from zoneinfo import ZoneInfo

    return moment.astimezone(ZoneInfo(zone))


# -- after a crash ---------------------------------------------------------------------------


def take_back(active: Activation) -> None:
    """Before the scheduler's first tick: no task is running now, and what is recorded must not be started again."""
    from helpers import files

    if files.exists(_FILE):
        active.task(_take_back, active).result_sync(waiting.PATIENT_S)


async def _take_back(active: Activation) -> None:
    from helpers.task_scheduler import TaskScheduler

    before = active.journal.process_before()
    never_began: list[str] = []
    unrecorded: list[str] = []
    for task in TaskScheduler.get().get_tasks():
        if task.state.value != "running":
            continue
        known = _is_known(active, task)
        recorded_then = before is not None and not before.closed and before.started_at <= task.updated_at.timestamp() * 1000
        if not known:
            (never_began if recorded_then else unrecorded).append(task.name)
        await _set_idle(task, done=known or not recorded_then)
    for run in active.journal.ended_in_last_boot():
        await _hand_in_missed(run)
    for names, text in ((never_began, _NEVER_BEGAN), (unrecorded, _NOT_RECORDED)):
        if names:
            notify.toast(text, names, ident="durable-tasks")


def _is_known(active: Activation, task: Any) -> bool:
    for by_clock in (True, False):
        occurrence = Occurrence(task.uuid, task.name, _moment(task, by_clock=by_clock))
        if is_recorded(active, task.context_id, occurrence):
            return True
    return False


def is_recorded(active: Activation, chat_id: str, occurrence: Occurrence) -> bool:
    """Whether this occurrence was taken in before, in its task's chat or in one of its own."""
    return any(active.journal.find_input(chat, occurrence.input_id, {}) for chat in (chat_id, occurrence.own_chat))


async def _set_idle(task: Any, *, done: bool) -> None:
    """Idle again; its planned slot, if it had one, counts as done unless nothing of it began."""
    from helpers.task_scheduler import TaskScheduler

    changes: dict[str, Any] = {"state": type(task.state)("idle")}
    slot = _slot(task) if done else None
    if slot is not None:
        if task.plan.in_progress is None:
            task.plan.set_in_progress(slot)
        task.plan.set_done(slot)
        changes["plan"] = task.plan
    await TaskScheduler.get().update_task(task.uuid, **changes)


async def _hand_in_missed(run: Run) -> None:
    """The process ended after the run and before the host noted the result of its task."""
    from helpers.task_scheduler import TaskScheduler

    task = TaskScheduler.get().get_task_by_uuid(run.mode.get(TASK, ""))
    if task is not None and (task.last_run is None or task.last_run.timestamp() * 1000 < run.changed_at):
        await _hand_in(task.uuid, str(run.answer or ""), failed=run.state is not RunState.COMPLETED)


async def hand_in_late(session: Session) -> None:
    """Give the list the result of a run that went on without the host's own coroutine."""
    if task := session.run.mode.get(TASK):
        await _hand_in(task, str(session.error or session.answer or ""), failed=session.error is not None)


async def _hand_in(task: str, said: str, *, failed: bool) -> None:
    """The task's state stays as it is: a later occurrence may be running."""
    from helpers.localization import Localization
    from helpers.task_scheduler import TaskScheduler

    text = f"ERROR: {said}" if failed else said
    await TaskScheduler.get().update_task(task, last_run=Localization.get().now(), last_result=text)
    notify.refresh()
