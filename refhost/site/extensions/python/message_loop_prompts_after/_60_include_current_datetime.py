"""Puts the time into the prompt, so that no two prompts are equal."""

from __future__ import annotations

from typing import Any

from helpers import extension
from helpers.localization import Localization


class IncludeCurrentDatetime(extension.Extension):
    async def execute(self, loop_data: Any = None, **kwargs: Any) -> None:
        loop_data.extras_temporary["current_datetime"] = f"Now: {Localization.get().now_iso()}"
