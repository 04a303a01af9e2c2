"""Lets a chat belong to a project. Nothing of a project is here but its name and the settings that it may have."""

from __future__ import annotations

from agent import AgentContext
from helpers import api


class Projects(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = AgentContext.get(input.get("context_id", ""))
        if context is None or input.get("action") != "activate" or not input.get("name"):
            return api.Response("Context ID, action and project name are required", status=400)
        context.set_data("project", input["name"])
        return {"ok": True}
