"""Waits for a while or until a time. A person's message gets through meanwhile."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from helpers import tool
from helpers.localization import Localization
from helpers.log import LogItem

UNITS = ("seconds", "minutes", "hours", "days")


class WaitTool(tool.Tool):
    async def execute(self, **kwargs: Any) -> tool.Response:
        await self.agent.handle_intervention()
        times = Localization.get()
        length = timedelta(**{unit: float(self.args.get(unit, 0)) for unit in UNITS})
        until = self.args.get("until")
        target = times.localtime_str_to_utc_dt(until) if until else times.now() + length
        if target is None or target <= times.now():
            return tool.Response(message=f"{target} has passed already.", break_loop=False)
        while (left := (target - times.now()).total_seconds()) > 0:
            await self.agent.handle_intervention()
            self.log.update(heading=f"icon://timer Wait: {left:.1f}s remaining")
            await asyncio.sleep(min(1.0, left))
        self.log.update(heading="icon://timer Wait: Done")
        text = self.agent.read_prompt("fw.wait_complete.md", target_time=times.serialize_datetime(target))
        return tool.Response(message=text, break_loop=False)

    def get_log_object(self) -> LogItem:
        heading = "icon://timer Wait: Waiting..."
        return self.agent.context.log.log(type="progress", heading=heading, content="", kvps=self.args)
