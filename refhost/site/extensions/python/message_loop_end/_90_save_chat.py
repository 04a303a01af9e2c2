"""Saves the chat after each step, and only here: a new chat has no file before its first step ended."""

from __future__ import annotations

from typing import Any

from helpers import extension, persist_chat


class SaveChat(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        if self.agent:
            persist_chat.save_tmp_chat(self.agent.context)
