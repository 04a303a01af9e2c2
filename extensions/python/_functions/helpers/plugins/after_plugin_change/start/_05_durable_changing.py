"""The last moment our hooks exist when the plugin was switched off by a file."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableChanging(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("plugins.changing", data)
