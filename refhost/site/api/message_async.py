"""A user's message; answers at once."""

from __future__ import annotations

from agent import AgentContext
from helpers import api
from helpers.defer import DeferredTask

from api import message


class MessageAsync(message.Message):
    async def respond(self, task: DeferredTask, context: AgentContext) -> api.Output:
        return {"message": "Message received.", "context": context.id}
