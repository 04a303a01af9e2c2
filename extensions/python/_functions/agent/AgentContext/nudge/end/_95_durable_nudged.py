"""The nudge is over."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableNudged(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("nudge.end", data)
