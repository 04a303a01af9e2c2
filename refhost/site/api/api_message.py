"""A message of another program over HTTP; without a chat it gets a new one. Answers when the turn has ended."""

from __future__ import annotations

import json
import uuid

from agent import AgentContext, UserMessage
from helpers import api
from initialize import initialize_agent


class ApiMessage(api.ApiHandler):
    @classmethod
    def requires_auth(cls) -> bool:
        return False

    @classmethod
    def requires_api_key(cls) -> bool:
        return True

    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = AgentContext.use(input["context_id"]) if input.get("context_id") else AgentContext(config=initialize_agent())
        if context is None:
            return api.Response('{"error": "Context not found"}', 404, mimetype="application/json")
        AgentContext.use(context.id)
        message_id = str(uuid.uuid4())
        context.log.log(type="user", heading="", content=input["message"], kvps={"attachments": []}, id=message_id)
        try:
            result = await context.communicate(UserMessage(input["message"], id=message_id)).result()
        except Exception as error:
            return api.Response(json.dumps({"error": str(error)}), 500, mimetype="application/json")
        return {"context_id": context.id, "response": result}
