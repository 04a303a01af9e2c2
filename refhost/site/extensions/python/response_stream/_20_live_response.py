"""Draws the bubble of a final answer while it comes. Without the stream's callbacks there is no bubble."""

from __future__ import annotations

from typing import Any

from helpers import extension


class LiveResponse(extension.Extension):
    async def execute(self, loop_data: Any = None, parsed: Any = None, **kwargs: Any) -> None:
        args = parsed.get("tool_args")
        if not self.agent or parsed.get("tool_name") != "response" or not isinstance(args, dict) or not args.get("text"):
            return
        known = loop_data.params_temporary
        if "log_item_response" not in known:
            shared = known["log_item_generating"].id if "log_item_generating" in known else ""
            heading = f"icon://chat {self.agent.agent_name}: Responding"
            known["log_item_response"] = self.agent.context.log.log(type="response", heading=heading, id=shared)
        known["log_item_response"].update(content=args["text"])
