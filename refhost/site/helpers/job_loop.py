"""Once a minute: due tasks, then the point `job_loop`. The first round comes at once."""

from __future__ import annotations

import asyncio
import os

from helpers import errors
from helpers.extension import call_extensions_async
from helpers.print_style import PrintStyle
from helpers.task_scheduler import TaskScheduler

SLEEP_TIME = float(os.environ.get("JOB_LOOP_SECONDS", "60"))


async def run_loop() -> None:
    while True:
        try:
            await scheduler_tick()
        except Exception as error:
            PrintStyle.error(errors.format_error(error))
        await asyncio.sleep(SLEEP_TIME)


async def scheduler_tick() -> None:
    await TaskScheduler.get().tick()
    await call_extensions_async("job_loop")
