"""Empties a chat; it keeps its id."""

from __future__ import annotations

from helpers import api, persist_chat
from helpers.task_scheduler import TaskScheduler


class Reset(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        ctxid = input.get("context", "")
        TaskScheduler.get().cancel_tasks_by_context(ctxid, terminate_thread=True)
        context = self.use_context(ctxid)
        context.reset()
        persist_chat.save_tmp_chat(context)
        persist_chat.remove_msg_files(ctxid)
        return {"message": "Agent restarted."}
