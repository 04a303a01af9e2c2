"""Greets in a chat that has no messages yet."""

from __future__ import annotations

import json
from typing import Any

import agent
from helpers import extension


class InitialMessage(extension.Extension):
    def execute(self, **kwargs: Any) -> None:
        me = self.agent
        if me is None or me.number != 0 or me.context.log.logs:
            return
        me.loop_data = agent.LoopData(user_message=None)
        text = me.read_prompt("fw.initial_message.md")
        message = me.hist_add_ai_response(text)
        greeting = json.loads(text)["tool_args"]["text"]
        me.context.log.log("response", content=greeting, finished=True, update_progress="none", id=message.id)
