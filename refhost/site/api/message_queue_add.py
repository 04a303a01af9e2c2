"""A message that is sent when the running turn has ended."""

from __future__ import annotations

from agent import AgentContext
from helpers import api, message_queue


class MessageQueueAdd(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = AgentContext.get(input.get("context", ""))
        if context is None:
            return api.Response("Context not found", status=404)
        item = message_queue.add(context, input.get("text", ""), input.get("attachments"), input.get("item_id"))
        return {"ok": True, "item_id": item["id"], "queue_length": len(message_queue.get_queue(context))}
