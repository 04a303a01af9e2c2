"""Sends what waits in the queue now: one item, or all of them as one message."""

from __future__ import annotations

from agent import AgentContext
from helpers import api
from helpers import message_queue as mq


class MessageQueueSend(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = AgentContext.get(input["context"])
        if context is None:
            return api.Response("Context not found", 404)
        if input.get("send_all"):
            return {"ok": True, "sent_count": mq.send_all_aggregated(context)}
        return {"ok": mq.send_next(context)}
