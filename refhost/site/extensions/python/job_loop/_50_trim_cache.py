"""Drops what was not used for five minutes; extension files are executed anew after that."""

from __future__ import annotations

from typing import Any

from helpers import cache, extension


class TrimCache(extension.Extension):
    def execute(self, **kwargs: Any) -> None:
        cache.trim_cache("*", seconds=300)
