"""The host is initialised: start the thread that launches resumes."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableUp(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("host.up", data)
