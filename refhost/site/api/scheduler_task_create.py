"""A task that runs at a time, or when somebody asks for it."""

from __future__ import annotations

from datetime import datetime

from helpers import api
from helpers.task_scheduler import PlannedTask, TaskPlan, TaskScheduler


class SchedulerTaskCreate(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        plan = TaskPlan([datetime.fromisoformat(at) for at in input.get("plan", [])])
        task = PlannedTask(name=input["name"], prompt=input["prompt"], plan=plan, context_id=input.get("context_id", ""))
        await TaskScheduler.get().add_task(task)
        return {"ok": True, "task_id": task.uuid}
