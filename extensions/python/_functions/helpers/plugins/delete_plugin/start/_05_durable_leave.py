"""Deletion: undo everything, keep the data."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableLeave(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("plugin.leaving", data)
