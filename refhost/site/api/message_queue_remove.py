"""Takes an item out of the queue, or all of them."""

from __future__ import annotations

from agent import AgentContext
from helpers import api
from helpers import message_queue as mq


class MessageQueueRemove(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = AgentContext.get(input["context"])
        if context is None:
            return api.Response("Context not found", 404)
        return {"ok": True, "remaining": mq.remove(context, input.get("item_id"))}
