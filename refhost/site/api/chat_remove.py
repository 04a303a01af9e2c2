"""Deletes a chat: from memory and from the disk."""

from __future__ import annotations

from agent import AgentContext
from helpers import api, persist_chat
from helpers.task_scheduler import TaskScheduler


class RemoveChat(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        ctxid, scheduler = input.get("context", ""), TaskScheduler.get()
        scheduler.cancel_tasks_by_context(ctxid, terminate_thread=True)
        context = AgentContext.use(ctxid)
        if context:
            context.reset()
        AgentContext.remove(ctxid)
        persist_chat.remove_chat(ctxid)
        await scheduler.reload()
        for task in scheduler.get_tasks_by_context_id(ctxid):
            await scheduler.remove_task_by_uuid(task.uuid)
        return {"message": "Context removed."}
