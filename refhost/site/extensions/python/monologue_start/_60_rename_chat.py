"""Gives the chat a name, beside the turn: a utility call that runs while the model is asked."""

from __future__ import annotations

import asyncio
from typing import Any

from helpers import extension, persist_chat
from helpers.print_style import PrintStyle
from helpers.state_monitor_integration import mark_dirty_all


class RenameChat(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        if self.agent:  # kept there because the loop itself keeps no task alive
            self.agent.set_data("_rename_task", asyncio.create_task(self.change_name()))

    async def change_name(self) -> None:
        if self.agent is None:
            return
        context = self.agent.context
        system = self.agent.read_prompt("fw.rename_chat.sys.md", current_name=context.name)
        text = self.agent.history.output_text()[-5000:]
        try:
            name = await self.agent.call_utility_model(system=system, message=text, background=True)
        except Exception as error:
            PrintStyle.warning(f"Chat was not renamed: {error}")
            return
        if name:
            context.name = " ".join(name.split())[:40]
            persist_chat.save_tmp_chat(context)
            mark_dirty_all(reason="rename_chat")
