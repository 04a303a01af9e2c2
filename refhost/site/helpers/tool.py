"""Base of all tools. A tool's instance lives for one call."""

from __future__ import annotations

import uuid
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from agent import Agent, LoopData
from helpers.extension import call_extensions_async
from helpers.log import LogItem
from helpers.print_style import PrintStyle


@dataclass
class Response:
    message: str
    break_loop: bool
    additional: dict[str, Any] | None = None


class Tool:
    log: LogItem  # absent until `before_execution` of this class ran

    def __init__(
        self,
        agent: Agent,
        name: str,
        method: str | None,
        args: dict[str, Any],
        message: str,
        loop_data: LoopData | None,
        **kwargs: Any,
    ) -> None:
        self.agent = agent
        self.name = name
        self.method = method
        self.args = args
        self.loop_data = loop_data
        self.message = message
        self.progress: str = ""

    @abstractmethod
    async def execute(self, **kwargs: Any) -> Response:
        """Does what the tool is for."""

    async def set_progress(self, content: str | None) -> None:
        ctx = {"content": content or ""}
        await call_extensions_async("tool_output_update", self.agent, ctx=ctx)
        self.progress = ctx["content"]

    def add_progress(self, content: str | None) -> None:
        self.progress += content or ""

    async def before_execution(self, **kwargs: Any) -> None:
        PrintStyle.standard(f"{self.agent.agent_name}: Using tool '{self.name}'")
        self.log = self.get_log_object()

    async def after_execution(self, response: Response, **kwargs: Any) -> None:
        text = response.message.strip()
        self.agent.hist_add_tool_result(self.name, text, id=self.log.id, **(response.additional or {}))
        self.log.update(content=text)

    def get_log_object(self) -> LogItem:
        return self.agent.context.log.log(
            type="tool",
            heading=f"icon://construction {self.agent.agent_name}: Using tool '{self.name}'",
            content="",
            kvps=self.args,
            _tool_name=self.name,
            id=str(uuid.uuid4()),
        )
