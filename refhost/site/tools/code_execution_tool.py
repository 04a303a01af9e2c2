"""Runs a shell command in a session of its own, output into a file: the command goes on when the server is killed."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from typing import Any

from helpers import tool
from helpers.log import LogItem


class CodeExecution(tool.Tool):
    async def execute(self, **kwargs: Any) -> tool.Response:
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self.args.get("code", "")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            while process.poll() is None:
                await self.agent.handle_intervention()
                await asyncio.sleep(0.03)
                self._show(output)
            text = self._show(output)
        return tool.Response(message=text or "[no output]", break_loop=False)

    def _show(self, output: Any) -> str:
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
        if text != self.progress:
            self.progress = text
            self.log.update(content=text)
        return text

    def get_log_object(self) -> LogItem:
        heading = f"icon://terminal {self.agent.agent_name}: Running a command"
        return self.agent.context.log.log(type="code_exe", heading=heading, content="", kvps=self.args)
