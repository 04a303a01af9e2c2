"""Any other error is tried once more, and the model reads its traceback. A `HandledException` passes."""

from __future__ import annotations

import asyncio
import os
import uuid
from typing import Any

from helpers import errors, extension

COUNTER = "_error_retry_counter"
MAX_RETRIES = 1


class RetryCriticalException(extension.Extension):
    async def execute(self, data: Any = None, **kwargs: Any) -> None:
        if not self.agent:
            return
        error = data["exception"]
        if error is None or isinstance(error, errors.HandledException):
            self.agent.set_data(COUNTER, 0)
            return
        tried = self.agent.get_data(COUNTER) or 0
        if tried >= MAX_RETRIES:
            return
        self.agent.set_data(COUNTER, tried + 1)
        text, message_id = errors.format_error(error), str(uuid.uuid4())
        heading = "An error stopped this step. It is tried once more."
        self.agent.context.log.log(type="warning", heading=heading, content=text, id=message_id)
        await asyncio.sleep(float(os.environ.get("ERROR_RETRY_SECONDS", "0.05")))
        await self.agent.handle_intervention()
        self.agent.hist_add_warning(self.agent.read_prompt("fw.msg_critical_error.md", error_message=text), id=message_id)
        data["exception"] = None
