"""Hands a task to an agent below this one, which keeps its history until it is reset."""

from __future__ import annotations

from typing import Any

from agent import Agent, UserMessage
from helpers import tool
from helpers.log import LogItem
from initialize import initialize_agent


class Delegation(tool.Tool):
    async def execute(self, message: str = "", reset: str = "", **kwargs: Any) -> tool.Response:
        below = self.agent.get_data(Agent.DATA_NAME_SUBORDINATE)
        if below is None or str(reset).lower() == "true":
            below = Agent(self.agent.number + 1, initialize_agent(), self.agent.context)
            below.set_data(Agent.DATA_NAME_SUPERIOR, self.agent)
            self.agent.set_data(Agent.DATA_NAME_SUBORDINATE, below)
        below.hist_add_user_message(UserMessage(message=message))
        result = await below.monologue()
        below.history.new_topic()
        return tool.Response(message=result, break_loop=False)

    def get_log_object(self) -> LogItem:
        heading = f"icon://communication {self.agent.agent_name}: Calling Subordinate Agent"
        return self.agent.context.log.log(type="subagent", heading=heading, content="", kvps=self.args)
