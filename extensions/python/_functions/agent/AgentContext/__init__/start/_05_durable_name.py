"""A chat that a recorded job makes gets the id under which it was recorded."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableName(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("host.chat_made", data)
