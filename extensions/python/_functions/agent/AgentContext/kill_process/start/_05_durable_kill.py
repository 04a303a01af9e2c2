"""Killing a task never ends a run."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableKill(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("kill.start", data)
