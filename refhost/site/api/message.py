"""A user's message; answers when the turn has ended."""

from __future__ import annotations

from typing import Any

from agent import AgentContext, UserMessage
from helpers import api, extension
from helpers import message_queue as mq
from helpers.defer import DeferredTask


class Message(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        task, context = await self.communicate(input=input, request=request)
        return await self.respond(task, context)

    async def respond(self, task: DeferredTask, context: AgentContext) -> api.Output:
        return {"message": await task.result(), "context": context.id}

    async def communicate(self, input: api.Input, request: api.Request) -> tuple[DeferredTask, AgentContext]:
        message_id = input.get("message_id")
        context = self.use_context(input.get("context", ""))
        data: dict[str, Any] = {"message": input.get("text", ""), "attachment_paths": []}
        await extension.call_extensions_async("user_message_ui", agent=context.get_agent(), data=data)
        text, paths = data.get("message", ""), data.get("attachment_paths", [])
        # The bubble comes first; whoever finds the message a duplicate afterwards finds its bubble drawn.
        mq.log_user_message(context, text, paths, message_id)
        return context.communicate(UserMessage(message=text, attachments=paths, id=message_id or "")), context
