"""Before chats, scheduler and server: preflight, journal, adapters."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableStart(Extension):
    def execute(self, **kwargs):
        anchor.gate("host.starting")
