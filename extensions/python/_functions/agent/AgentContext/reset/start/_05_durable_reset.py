"""Resetting a chat is a Stop by the person."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableReset(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("reset.start", data)
