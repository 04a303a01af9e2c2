"""The reset is over."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableResetDone(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("reset.end", data)
