"""Nothing enters the history with a secret in it."""

from __future__ import annotations

from typing import Any

from helpers import extension
from helpers.secrets import SecretsManager, get_secrets_manager


class MaskHistoryContent(extension.Extension):
    def execute(self, content_data: Any = None, **kwargs: Any) -> None:
        if self.agent and content_data:
            manager = get_secrets_manager(self.agent.context)
            content_data["content"] = self._mask(content_data["content"], manager)

    def _mask(self, content: Any, manager: SecretsManager) -> Any:
        if isinstance(content, str):
            return manager.mask_values(content)
        if isinstance(content, list):
            return [self._mask(item, manager) for item in content]
        if isinstance(content, dict):
            return {key: self._mask(value, manager) for key, value in content.items()}
        return content
