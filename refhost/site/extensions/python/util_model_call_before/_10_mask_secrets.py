"""Background questions leave without secrets."""

from __future__ import annotations

from typing import Any

from helpers import extension
from helpers.secrets import get_secrets_manager


class MaskUtilityCall(extension.Extension):
    async def execute(self, call_data: Any = None, **kwargs: Any) -> None:
        if self.agent:
            manager = get_secrets_manager(self.agent.context)
            for key in ("system", "message"):
                call_data[key] = manager.mask_values(call_data[key])
