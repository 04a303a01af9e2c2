"""The last moment our hooks exist when the plugin is switched off."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableOff(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("toggle.start", data)
