"""Runs a task now."""

from __future__ import annotations

from helpers import api
from helpers.task_scheduler import TaskScheduler


class SchedulerTaskRun(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        await TaskScheduler.get().run_task_by_uuid(input["task_id"])
        return {"success": True, "message": "Task started."}
