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
class PlannedTask:
    """Runs once, at `due`; without a time it runs when somebody asks."""

    name: str
    prompt: str
    system_prompt: str = ""
    due: str | None = None
    uuid: str = field(default_factory=lambda: str(uuids.uuid4()))
    context_id: str = ""
    state: TaskState = TaskState.IDLE
    last_run: str | None = None
    last_result: str | None = None
    type: str = "planned"

    def __post_init__(self) -> None:
        self.context_id = self.context_id or self.uuid
        self.state = TaskState(self.state)

    def is_due(self) -> bool:
        at = datetime.fromisoformat(self.due) if self.due else None
        return at is not None and self.last_run is None and at <= Localization.get().now()

    async def on_success(self, result: str) -> None:
        await self._finish(TaskState.IDLE, result)

    async def on_error(self, error: str) -> None:
        await self._finish(TaskState.ERROR, f"ERROR: {error}")

    async def _finish(self, state: TaskState, result: str) -> None:
        changes = {"state": state, "last_run": Localization.get().now_iso(), "last_result": result}
        await TaskScheduler.get().update_task(self.uuid, **changes)


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
            known = {task.uuid: task for task in self._tasks}
            self._tasks = []
            for item in json.loads(files.read_file(TASKS_FILE)):
                task = known.get(item["uuid"]) or PlannedTask(**item)
                task.__dict__.update(PlannedTask(**item).__dict__)
                self._tasks.append(task)

    async def reload(self) -> None:
        self._read()

    async def save(self) -> None:
        items = [{**asdict(task), "state": task.state.value} for task in self._tasks]
        files.write_file(TASKS_FILE, json.dumps(items))

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
            for name, value in changes.items():
                setattr(task, name, value)
            await self.save()
        return task

    def serialize_task(self, task_id: str) -> dict[str, Any] | None:
        task = self.get_task_by_uuid(task_id)
        return {**asdict(task), "state": task.state.value, "task_name": task.name} if task else None

    def cancel_tasks_by_context(self, context_id: str, terminate_thread: bool = False) -> bool:
        running = [self._running.pop(task.uuid, None) for task in self.get_tasks_by_context_id(context_id)]
        for deferred in filter(None, running):
            deferred.kill()
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
        try:
            await task.on_success(await self._turn(task))
        except asyncio.CancelledError:
            await self.update_task(task.uuid, state=TaskState.IDLE)
            raise
        except Exception as error:
            PrintStyle.error(f"The task {task.name} failed: {error}")
            await task.on_error(str(error))
        finally:
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
