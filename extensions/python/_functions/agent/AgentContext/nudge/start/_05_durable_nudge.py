"""A nudge cannot slip past a hold."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableNudge(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("nudge.start", data)
