"""The same moment where run_ui is imported and not run as a program."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableUp(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("host.up", data)
