"""The first moment our hooks exist when the plugin is switched on."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableOn(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("toggle.end", data)
