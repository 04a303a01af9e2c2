from __future__ import annotations

from typing import Any

from helpers.tool import Response, Tool
from usr.plugins.durable_execution.bridge import anchor

NOT_ACTIVE = "Nothing was read or written: Durable Execution is not active, and the plan is kept by it. Go on without the plan."


class DurablePlan(Tool):
    """The plan of this chat: read it, or replace it as a whole."""

    async def execute(self, **kwargs: Any) -> Response:
        said = await anchor.gate_async("document.tool", tool=self, kind="plan", arguments=kwargs)
        return Response(message=said or NOT_ACTIVE, break_loop=False)
