"""Chats are loaded, the scheduler has not ticked: holds come into force."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableScan(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("host.chats_loaded", data)
