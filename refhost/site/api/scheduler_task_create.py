"""A task that runs at a time, or when somebody asks for it."""

from __future__ import annotations

from helpers import api
from helpers.task_scheduler import PlannedTask, TaskScheduler


class SchedulerTaskCreate(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        task = PlannedTask(name=input["name"], prompt=input["prompt"], due=input.get("due"))
        await TaskScheduler.get().add_task(task)
        return {"ok": True, "task_id": task.uuid}
