"""The agent's item in the log, made before the model is asked. Its id becomes the id of the model's message."""

from __future__ import annotations

import uuid
from typing import Any

from helpers import extension


class LogForStream(extension.Extension):
    async def execute(self, loop_data: Any = None, **kwargs: Any) -> None:
        if self.agent and "log_item_generating" not in loop_data.params_temporary:
            heading = f"{self.agent.agent_name}: Calling LLM..."
            item = self.agent.context.log.log(type="agent", heading=heading, id=str(uuid.uuid4()))
            loop_data.params_temporary["log_item_generating"] = item
