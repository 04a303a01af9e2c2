"""A tool with an effect that can be counted: lines in a file outside the world. Its arguments choose how it ends."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from helpers import tool
from helpers.errors import HandledException, RepairableException

ERRORS: dict[str, type[BaseException]] = {
    "timeout": TimeoutError,
    "connection": ConnectionError,
    "broken_pipe": BrokenPipeError,
    "value": ValueError,
    "oserror": OSError,
    "repairable": RepairableException,
    "handled": HandledException,
    "cancelled": asyncio.CancelledError,  # though nobody cancelled the task
}


class Effect(tool.Tool):
    async def execute(self, **kwargs: Any) -> tool.Response:
        args = self.args
        self._note("start")
        self.add_progress(args.get("progress"))
        await self._work(float(args.get("seconds", 0)), args.get("gate"), bool(args.get("poll")))
        if args.get("before"):
            raise ERRORS[args["before"]](f"effect {args.get('arg')} failed")
        self._note("end")
        if args.get("ends_task"):
            self._end_task()
            await asyncio.sleep(60)
        if args.get("raises"):
            raise ERRORS[args["raises"]](f"effect {args.get('arg')} failed")
        text = args.get("value", f"effect {args.get('arg')} done")
        if args.get("size"):
            text = "x" * int(args["size"])
        return tool.Response(message=text, break_loop=False, additional=args.get("additional"))

    async def _work(self, seconds: float, gate: str | None, poll: bool) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end or (gate and not Path(gate).exists()):
            if poll:
                await self.agent.handle_intervention()
            await asyncio.sleep(0.02)

    def _end_task(self) -> None:
        """As a library does whose own scope of cancellation leaks."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    def _note(self, what: str) -> None:
        """One write of one line: whole even when two processes write, and kept when this one is killed."""
        line = f"{what} {self.args.get('arg', '')} {os.getpid()}\n"
        handle = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, line.encode("utf-8", "surrogatepass"))
        os.close(handle)
