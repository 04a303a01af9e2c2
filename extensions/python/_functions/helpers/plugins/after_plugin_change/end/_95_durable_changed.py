"""A plugin was switched by a file, updated or removed."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableChanged(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("plugins.changed", data)
