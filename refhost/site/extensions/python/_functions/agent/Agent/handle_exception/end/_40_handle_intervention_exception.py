"""A person's message is no error: the loop goes on."""

from __future__ import annotations

from typing import Any

from helpers import errors, extension


class HandleIntervention(extension.Extension):
    async def execute(self, data: Any = None, **kwargs: Any) -> None:
        if self.agent and isinstance(data["exception"], errors.InterventionException):
            data["exception"] = None
