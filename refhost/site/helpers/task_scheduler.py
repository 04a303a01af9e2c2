"""Tasks that run without a person. A turn of a task does not pass `communicate` and is not its chat's own task."""

from __future__ import annotations

import asyncio
import json
import uuid as uuids
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from agent import AgentContext, AgentContextType, UserMessage
from helpers import files, persist_chat
from helpers.defer import DeferredTask
from helpers.localization import Localization
from helpers.print_style import PrintStyle
from initialize import initialize_agent

TASKS_FILE = "usr/scheduler/tasks.json"


class TaskState(Enum):
    IDLE = "idle"
    RUNNING = "running"
    DISABLED = "disabled"
    ERROR = "error"


@dataclass
class TaskPlan:
    """Times at which a task is to run, and those at which it did. A time in progress is not written to the file."""

    todo: list[datetime] = field(default_factory=list)
    in_progress: datetime | None = None
    done: list[datetime] = field(default_factory=list)

    def set_in_progress(self, at: datetime) -> None:
        self.todo.remove(at)
        self.in_progress = at

    def set_done(self, at: datetime) -> None:
        self.in_progress = None
        self.done.append(at)

    def should_launch(self) -> datetime | None:
        return self.todo[0] if self.todo and self.todo[0] < Localization.get().now() else None


@dataclass
class PlannedTask:
    """Runs at each time of its plan; without a plan it runs when somebody asks."""

    name: str
    prompt: str
    plan: TaskPlan = field(default_factory=TaskPlan)
    system_prompt: str = ""
    uuid: str = field(default_factory=lambda: str(uuids.uuid4()))
    context_id: str = ""
    state: TaskState = TaskState.IDLE
    updated_at: datetime = field(default_factory=lambda: Localization.get().now())
    last_run: datetime | None = None
    last_result: str | None = None
    type: str = "planned"

    def __post_init__(self) -> None:
        self.context_id = self.context_id or self.uuid

    def is_due(self) -> bool:
        return self.plan.should_launch() is not None

    async def on_run(self) -> None:
        at = self.plan.should_launch()
        if at is not None:
            self.plan.set_in_progress(at)

    async def on_finish(self) -> None:
        if self.plan.in_progress is not None:
            self.plan.set_done(self.plan.in_progress)
            await TaskScheduler.get().update_task(self.uuid, plan=self.plan)

    async def on_success(self, result: str) -> None:
        await self._end(TaskState.IDLE, result)

    async def on_error(self, error: str) -> None:
        await self._end(TaskState.ERROR, f"ERROR: {error}")

    async def _end(self, state: TaskState, result: str) -> None:
        changes = {"state": state, "last_run": Localization.get().now(), "last_result": result}
        await TaskScheduler.get().update_task(self.uuid, **changes)


def _written(task: PlannedTask) -> dict[str, Any]:
    """As JSON. A time in progress is still to be done if the process ends now."""
    plan, running = task.plan, [task.plan.in_progress] if task.plan.in_progress else []
    return {
        **asdict(task),
        "state": task.state.value,
        "plan": {"todo": [_iso(at) for at in [*running, *plan.todo]], "done": [_iso(at) for at in plan.done]},
        "updated_at": _iso(task.updated_at),
        "last_run": _iso(task.last_run),
    }


def _read_task(item: dict[str, Any]) -> PlannedTask:
    todo, done = ([datetime.fromisoformat(at) for at in item["plan"][part]] for part in ("todo", "done"))
    times = {name: datetime.fromisoformat(item[name]) if item[name] else None for name in ("updated_at", "last_run")}
    return PlannedTask(**{**item, **times, "plan": TaskPlan(todo, None, done), "state": TaskState(item["state"])})


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


class TaskScheduler:
    _instance: TaskScheduler | None = None

    @classmethod
    def get(cls) -> TaskScheduler:
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def __init__(self) -> None:
        self._running: dict[str, DeferredTask] = {}
        self._tasks: list[PlannedTask] = []
        self._read()

    def _read(self) -> None:
        if files.exists(TASKS_FILE):
            self._tasks = [_read_task(item) for item in json.loads(files.read_file(TASKS_FILE))]

    async def reload(self) -> None:
        self._read()

    async def save(self) -> None:
        files.write_file(TASKS_FILE, json.dumps([_written(task) for task in self._tasks]))

    def get_tasks(self) -> list[PlannedTask]:
        return list(self._tasks)

    def get_task_by_uuid(self, task_uuid: str) -> PlannedTask | None:
        return next((task for task in self._tasks if task.uuid == task_uuid), None)

    def get_tasks_by_context_id(self, context_id: str, only_running: bool = False) -> list[PlannedTask]:
        found = [task for task in self._tasks if task.context_id == context_id]
        return [task for task in found if not only_running or task.state == TaskState.RUNNING]

    async def add_task(self, task: PlannedTask) -> None:
        self._tasks.append(task)
        await self.save()

    async def remove_task_by_uuid(self, task_uuid: str) -> None:
        self._tasks = [task for task in self._tasks if task.uuid != task_uuid]
        await self.save()

    async def update_task(self, task_uuid: str, **changes: Any) -> PlannedTask | None:
        task = self.get_task_by_uuid(task_uuid)
        if task:
            for name, value in {"updated_at": Localization.get().now(), **changes}.items():
                setattr(task, name, value)
            await self.save()
        return task

    def serialize_task(self, task_id: str) -> dict[str, Any] | None:
        task = self.get_task_by_uuid(task_id)
        return {**_written(task), "task_name": task.name} if task else None

    def cancel_tasks_by_context(self, context_id: str, terminate_thread: bool = False) -> bool:
        running = [self._running.pop(task.uuid, None) for task in self.get_tasks_by_context_id(context_id)]
        for deferred in filter(None, running):
            deferred.kill(terminate_thread=terminate_thread)
        return any(running)

    async def tick(self) -> None:
        for task in self.get_tasks():
            if task.state == TaskState.IDLE and task.is_due():
                self._start(task)

    async def run_task_by_uuid(self, task_uuid: str) -> None:
        task = self.get_task_by_uuid(task_uuid)
        if task is None:
            raise ValueError(f"There is no task {task_uuid}.")
        if task.state == TaskState.RUNNING:
            raise ValueError(f"The task {task.name} is running.")
        self._start(task)

    def _start(self, task: PlannedTask) -> None:
        self._running[task.uuid] = DeferredTask("TaskScheduler").start_task(self._run_task, task)

    async def _run_task(self, task: PlannedTask) -> None:
        if task.state == TaskState.RUNNING:
            return
        await self.update_task(task.uuid, state=TaskState.RUNNING)
        await task.on_run()
        try:
            await task.on_success(await self._turn(task))
        except asyncio.CancelledError:
            await self.update_task(task.uuid, state=TaskState.IDLE)
            raise
        except Exception as error:
            PrintStyle.error(f"The task {task.name} failed: {error}")
            await task.on_error(str(error))
        finally:
            await task.on_finish()
            self._running.pop(task.uuid, None)

    async def _turn(self, task: PlannedTask) -> str:
        context = AgentContext.use(task.context_id)
        if context is None:
            context = AgentContext(
                config=initialize_agent(),
                id=task.context_id,
                name=task.name,
                type=AgentContextType.TASK,
                set_current=True,
            )
        agent, message_id = context.streaming_agent or context.agent0, str(uuids.uuid4())
        text = f"## Task:\n{task.prompt}"
        context.log.log(type="user", heading="", content=text, kvps={"attachments": []}, id=message_id)
        agent.hist_add_user_message(UserMessage(text, system_message=[task.system_prompt], id=message_id))
        persist_chat.save_tmp_chat(context)
        result = await agent.monologue()
        persist_chat.save_tmp_chat(context)
        return result
