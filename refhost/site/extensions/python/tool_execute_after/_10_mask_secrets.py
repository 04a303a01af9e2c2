"""What a tool returned is masked before anyone else sees it."""

from __future__ import annotations

from typing import Any

from helpers import extension
from helpers.secrets import get_secrets_manager


class MaskToolSecrets(extension.Extension):
    async def execute(self, response: Any = None, **kwargs: Any) -> None:
        if self.agent and response:
            response.message = get_secrets_manager(self.agent.context).mask_values(response.message)
