"""Each turn has its own retry."""

from __future__ import annotations

from typing import Any

from helpers import extension


class ResetCounter(extension.Extension):
    async def execute(self, **kwargs: Any) -> None:
        if self.agent:
            self.agent.set_data("_error_retry_counter", 0)
