"""From now on changes of plugin files are seen."""

from __future__ import annotations

from typing import Any

from helpers import extension, watchdog


class RegisterWatchdogs(extension.Extension):
    def execute(self, **kwargs: Any) -> None:
        watchdog.register_watchdogs()
