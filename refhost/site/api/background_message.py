"""A message of another program, as the servers for programs take one in: a background chat that goes when the answer is there."""

from __future__ import annotations

from agent import AgentContext, AgentContextType, UserMessage
from helpers import api, persist_chat
from initialize import initialize_agent


class BackgroundMessage(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = AgentContext(config=initialize_agent(), type=AgentContextType.BACKGROUND)
        context.log.log(type="user", heading="Remote user message", content=input["message"], kvps={"from": "a program"})
        result = await context.communicate(UserMessage(input["message"])).result()
        context.reset()
        AgentContext.remove(context.id)
        persist_chat.remove_chat(context.id)
        return {"response": result, "chat_id": context.id}
