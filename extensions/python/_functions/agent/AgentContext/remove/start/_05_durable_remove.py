"""Deleting a chat is a Stop by the person."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableRemove(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("remove.start", data)
