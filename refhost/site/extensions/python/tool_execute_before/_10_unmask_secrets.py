"""The tool gets the values of the secrets that the model named."""

from __future__ import annotations

from typing import Any

from helpers import extension
from helpers.secrets import get_secrets_manager


class UnmaskToolSecrets(extension.Extension):
    async def execute(self, tool_args: Any = None, **kwargs: Any) -> None:
        if self.agent and tool_args:
            manager = get_secrets_manager(self.agent.context)
            for key, value in tool_args.items():
                if isinstance(value, str):
                    tool_args[key] = manager.replace_placeholders(value)
